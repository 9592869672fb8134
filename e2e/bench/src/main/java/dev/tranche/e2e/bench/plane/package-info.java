/** A cluster's control plane without machines, for benchmarks of thousands of nodes. */
@NullMarked
package dev.tranche.e2e.bench.plane;

import org.jspecify.annotations.NullMarked;
