/** Benchmarks: {@code ./bench NAME}. */
@NullMarked
package dev.tranche.e2e.bench;

import org.jspecify.annotations.NullMarked;
