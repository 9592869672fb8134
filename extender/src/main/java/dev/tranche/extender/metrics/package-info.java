/** What Prometheus reads. */
@NullMarked
package dev.tranche.extender.metrics;

import org.jspecify.annotations.NullMarked;
