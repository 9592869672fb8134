/** A real cluster under pods of all kinds, with a fault every 20 seconds: {@code ./bench soak}. */
@NullMarked
package dev.tranche.e2e.bench.soak;

import org.jspecify.annotations.NullMarked;
