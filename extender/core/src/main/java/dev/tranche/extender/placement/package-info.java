/** Finds the GPUs of one node that can take a pod; pure. */
@NullMarked
package dev.tranche.extender.placement;

import org.jspecify.annotations.NullMarked;
