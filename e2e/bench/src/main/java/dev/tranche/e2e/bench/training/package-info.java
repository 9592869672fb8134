/** The surroundings of our processes in the training runs of their image. */
@NullMarked
package dev.tranche.e2e.bench.training;

import org.jspecify.annotations.NullMarked;
