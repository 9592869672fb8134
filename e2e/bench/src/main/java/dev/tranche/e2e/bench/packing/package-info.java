/** Replays traces of a cluster's pods, to see how full its GPUs get. */
@NullMarked
package dev.tranche.e2e.bench.packing;

import org.jspecify.annotations.NullMarked;
