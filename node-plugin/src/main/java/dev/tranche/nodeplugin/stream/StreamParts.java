package dev.tranche.nodeplugin.stream;

import dev.tranche.nodeplugin.config.Options;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import io.vertx.core.Vertx;

/** What the streams to all extender replicas share. */
public record StreamParts(Vertx vertx, Options options, Exchange exchange, NodeMetrics metrics) {}
