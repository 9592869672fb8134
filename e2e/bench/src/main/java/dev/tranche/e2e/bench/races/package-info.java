/** Pods that come and go at once, and what the kubelets make of them. */
@NullMarked
package dev.tranche.e2e.bench.races;

import org.jspecify.annotations.NullMarked;
