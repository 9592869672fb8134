/** Pods that kube-scheduler places together or not at all. */
@NullMarked
package dev.tranche.extender.gang;

import org.jspecify.annotations.NullMarked;
