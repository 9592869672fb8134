/** A kubelet for a node plugin without a cluster. */
@NullMarked
package dev.tranche.e2e.kubelet;

import org.jspecify.annotations.NullMarked;
