/** Chooses the pods to evict so that another pod gets its GPUs; pure. */
@NullMarked
package dev.tranche.extender.preempt;

import org.jspecify.annotations.NullMarked;
