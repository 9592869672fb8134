/** Calls the webhook alone, as an API server does, to measure it and to train its image. */
@NullMarked
package dev.tranche.e2e.bench.webhook;

import org.jspecify.annotations.NullMarked;
