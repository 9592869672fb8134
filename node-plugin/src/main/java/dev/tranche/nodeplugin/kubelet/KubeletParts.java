package dev.tranche.nodeplugin.kubelet;

import dev.tranche.nodeplugin.config.Options;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import io.vertx.core.Vertx;
import java.util.function.Supplier;

/**
 * What the connections of all resources share.
 *
 * @param hardware read at each call, since the driver may have been replaced meanwhile
 */
public record KubeletParts(
    Vertx vertx,
    Options options,
    Supplier<Hardware> hardware,
    NodeMetrics metrics,
    Kubelet.Listener listener) {}
