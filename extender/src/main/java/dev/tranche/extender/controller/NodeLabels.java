package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.watch.GpuLabels;
import dev.tranche.extender.watch.WatchedNode;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Labels GPU nodes from their reports where GPU Feature Discovery does not. Each extender that may
 * decide does so; of two equal patches, the resource version lets only one through. Confined to the
 * Ledger's loop.
 */
public final class NodeLabels implements Controller {
  /** As long as the kubelet keeps the resources of a plugin that has gone. */
  static final long GONE_AFTER_MS = 300_000;

  private static final Logger LOG = LoggerFactory.getLogger(NodeLabels.class);

  private final ControllerContext context;
  private final Map<String, LastReport> lastReports = new HashMap<>();

  /**
   * The labels by a node's last whole report with a GPU.
   *
   * @param labels empty before the first one
   * @param atMs when it came, or when the node was first seen
   */
  private record LastReport(Map<String, String> labels, long atMs) {}

  public NodeLabels(ControllerContext context) {
    this.context = context;
  }

  @Override
  public void nodeSeen(WatchedNode node) {
    lastReports.putIfAbsent(node.key(), new LastReport(Map.of(), context.nowMs()));
  }

  @Override
  public void nodeGone(String node) {
    lastReports.remove(node);
  }

  /**
   * Handles a node's report. One without a GPU changes nothing, since the driver may still be
   * loading. One of a node that is not watched yet is repeated within seconds.
   */
  @Override
  public void reported(String node, NodeReport report) {
    @Nullable LastReport before = lastReports.get(node);
    Map<String, String> labels = GpuLabels.of(report);
    if (before != null && !labels.isEmpty() && !report.getDraining()) {
      lastReports.put(node, new LastReport(labels, context.nowMs()));
      if (!before.labels().equals(labels)) {
        context.nodes().get(node).ifPresent(this::reconcile);
      }
    }
  }

  /** Retries refused patches, and removes the labels of plugins that have gone. */
  @Override
  public void everyTenSeconds() {
    context.nodes().forEach(this::reconcile);
  }

  private void reconcile(WatchedNode node) {
    LastReport last = lastReports.get(node.key());
    if (last == null) {
      return;
    }
    boolean gone = context.nowMs() - last.atMs() > GONE_AFTER_MS && !context.advertises(node.key());
    if (!gone && last.labels().isEmpty()) {
      return;
    }
    Map<String, String> wanted =
        gone ? GpuLabels.permanent(node.labels(), node.labelsAnnotation()) : last.labels();
    GpuLabels.change(node.labels(), node.labelsAnnotation(), wanted)
        .ifPresent(change -> write(node, change));
  }

  private void write(WatchedNode node, GpuLabels.Change change) {
    String ours = change.labelsAnnotation();
    context
        .nodes()
        .patch(
            node,
            "labels",
            change.labels(),
            Map.of(Names.NODE_LABELS, ours),
            () -> LOG.info("labelled node {}: {}", node.key(), ours));
  }
}
