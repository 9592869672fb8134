/** Chooses the node and the GPUs that lose least by taking a pod; pure. */
@NullMarked
package dev.tranche.extender.score.packing;

import org.jspecify.annotations.NullMarked;
