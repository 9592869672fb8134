/** The webhook alone, asked as an API server asks: to be measured, and to train its image. */
@NullMarked
package dev.tranche.e2e.bench.webhook;

import org.jspecify.annotations.NullMarked;
