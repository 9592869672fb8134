/** Whom to evict so that a pod gets its GPUs; pure. */
@NullMarked
package dev.tranche.extender.preempt;

import org.jspecify.annotations.NullMarked;
