/**
 * What is known of nodes, as verbs decide on it: GPUs at one moment, and what they could do for a
 * pod.
 */
@NullMarked
package dev.tranche.extender.snapshot;

import org.jspecify.annotations.NullMarked;
