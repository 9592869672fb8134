/** Which nodes a pod's own fields exclude, as kube-scheduler judges them. */
@NullMarked
package dev.tranche.extender.selection;

import org.jspecify.annotations.NullMarked;
