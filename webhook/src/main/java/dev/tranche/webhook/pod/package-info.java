/**
 * What a review says of a pod, and what becomes of it: its view, refusals, warnings and the patch.
 */
@NullMarked
package dev.tranche.webhook.pod;

import org.jspecify.annotations.NullMarked;
