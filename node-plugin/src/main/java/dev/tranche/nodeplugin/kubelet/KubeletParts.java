package dev.tranche.nodeplugin.kubelet;

import dev.tranche.nodeplugin.config.Options;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import io.vertx.core.Vertx;
import java.util.function.Supplier;

/** What the connections of all resources share. */
record KubeletParts(
    Vertx vertx,
    Options options,
    PodResourcesClient podResources,
    ReadBack readBack,
    Supplier<Hardware> hardware,
    NodeMetrics metrics,
    Kubelet.Listener listener) {}
