/** Records what real parts of Kubernetes do when a script runs. */
@NullMarked
package dev.tranche.e2e.bench.record;

import org.jspecify.annotations.NullMarked;
