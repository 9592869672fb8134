/** Scenario tests, the demo and the benchmarks, on a real cluster with simulated GPUs. */
@NullMarked
package dev.tranche.e2e;

import org.jspecify.annotations.NullMarked;
