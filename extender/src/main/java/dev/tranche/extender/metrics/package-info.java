/** The metrics that Prometheus scrapes. */
@NullMarked
package dev.tranche.extender.metrics;

import org.jspecify.annotations.NullMarked;
