/** What the webhook counts. */
@NullMarked
package dev.tranche.webhook.metrics;

import org.jspecify.annotations.NullMarked;
