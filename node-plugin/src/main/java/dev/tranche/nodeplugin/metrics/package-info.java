/** What Prometheus and the kubelet's probes read. */
@NullMarked
package dev.tranche.nodeplugin.metrics;

import org.jspecify.annotations.NullMarked;
