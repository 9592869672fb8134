/** Lists and watches of pods, nodes and disruption budgets. */
@NullMarked
package dev.tranche.extender.watch;

import org.jspecify.annotations.NullMarked;
