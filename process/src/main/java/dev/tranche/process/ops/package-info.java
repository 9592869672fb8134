/** The port for Prometheus and for the kubelet's probes. */
@NullMarked
package dev.tranche.process.ops;

import org.jspecify.annotations.NullMarked;
