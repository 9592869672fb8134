/** Lists and watches of pods, nodes and PodDisruptionBudgets. */
@NullMarked
package dev.tranche.extender.watch;

import org.jspecify.annotations.NullMarked;
