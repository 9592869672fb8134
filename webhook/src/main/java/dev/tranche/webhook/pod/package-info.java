/** A pod as a review contains it, and the outcome: denials, warnings and the patch. */
@NullMarked
package dev.tranche.webhook.pod;

import org.jspecify.annotations.NullMarked;
