/** Which node, and which of its GPUs, loses least by taking a pod. Pure. */
@NullMarked
package dev.tranche.extender.score.packing;

import org.jspecify.annotations.NullMarked;
