/** Simulated GPUs: what the fake NVML of a node says, changed while it runs. */
@NullMarked
package dev.tranche.e2e.gpu;

import org.jspecify.annotations.NullMarked;
