/** Fractions become replicas; pure. */
@NullMarked
package dev.tranche.webhook.mutate;

import org.jspecify.annotations.NullMarked;
