/** Pods that use more or less than they ask for, and what becomes of their work. */
@NullMarked
package dev.tranche.e2e.bench.load;

import org.jspecify.annotations.NullMarked;
