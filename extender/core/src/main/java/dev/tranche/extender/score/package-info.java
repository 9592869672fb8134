/** Compares the GPUs and nodes that can take a pod; pure. */
@NullMarked
package dev.tranche.extender.score;

import org.jspecify.annotations.NullMarked;
