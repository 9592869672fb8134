/** Finds the nodes that a pod's own fields exclude, by kube-scheduler's rules. */
@NullMarked
package dev.tranche.extender.selection;

import org.jspecify.annotations.NullMarked;
