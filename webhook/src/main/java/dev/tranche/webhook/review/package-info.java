/** The API server's AdmissionReviews: read within bounds, handled, answered. */
@NullMarked
package dev.tranche.webhook.review;

import org.jspecify.annotations.NullMarked;
