/** Snapshots of nodes and their GPUs, and how they fit a pod; the verbs decide on these. */
@NullMarked
package dev.tranche.extender.snapshot;

import org.jspecify.annotations.NullMarked;
