/** The kubelet's device plugin and PodResources APIs. */
@NullMarked
package dev.tranche.nodeplugin.kubelet;

import org.jspecify.annotations.NullMarked;
