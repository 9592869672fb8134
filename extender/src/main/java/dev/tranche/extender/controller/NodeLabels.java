package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.watch.GpuLabels;
import dev.tranche.extender.watch.WatchedNode;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.vertx.core.Future;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
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
  private final Map<String, LastWatched> nodes = new HashMap<>();
  private final Map<String, LastReport> lastReports = new HashMap<>();
  private final Set<String> underWay = new HashSet<>();

  /**
   * A Node as last watched.
   *
   * @param labelsAnnotation our annotation that lists which labels are ours
   */
  private record LastWatched(
      String resourceVersion, Map<String, String> labels, String labelsAnnotation, long sinceMs) {}

  /**
   * The labels by a node's last whole report with a GPU.
   *
   * @param atMs when it came
   */
  private record LastReport(Map<String, String> labels, long atMs) {}

  public NodeLabels(ControllerContext context) {
    this.context = context;
  }

  @Override
  public void nodeSeen(WatchedNode node) {
    @Nullable LastWatched before = nodes.get(node.key());
    long sinceMs = before == null ? context.nowMs() : before.sinceMs();
    nodes.put(
        node.key(),
        new LastWatched(node.resourceVersion(), node.labels(), node.labelsAnnotation(), sinceMs));
  }

  @Override
  public void nodeGone(String node) {
    nodes.remove(node);
    lastReports.remove(node);
  }

  /**
   * Handles a node's report. One without a GPU changes nothing, since the driver may still be
   * loading.
   */
  @Override
  public void reported(String node, NodeReport report) {
    if (!nodes.containsKey(node)) {
      // Deleted, or not watched yet: the next whole report comes within seconds.
      return;
    }
    Map<String, String> labels = GpuLabels.of(report);
    if (!labels.isEmpty() && !report.getDraining()) {
      @Nullable LastReport before = lastReports.put(node, new LastReport(labels, context.nowMs()));
      if (before == null || !before.labels().equals(labels)) {
        reconcile(node);
      }
    }
  }

  /** Retries refused patches, and removes the labels of plugins that have gone. */
  @Override
  public void everyTenSeconds() {
    nodes.keySet().forEach(node -> context.metrics().failures.onNode(node, () -> reconcile(node)));
  }

  private void reconcile(String node) {
    LastWatched watched = nodes.get(node);
    if (watched == null || underWay.contains(node) || !context.deciding()) {
      return;
    }
    LastReport now = lastReports.get(node);
    long ageMs = context.nowMs() - (now == null ? watched.sinceMs() : now.atMs());
    boolean gone = ageMs > GONE_AFTER_MS && !context.advertises(node);
    if (!gone && now == null) {
      return;
    }
    Map<String, String> wanted =
        gone || now == null
            ? GpuLabels.permanent(watched.labels(), watched.labelsAnnotation())
            : now.labels();
    GpuLabels.change(watched.labels(), watched.labelsAnnotation(), wanted)
        .filter(change -> context.rate().tryAcquire(node))
        .ifPresent(change -> write(node, watched, change));
  }

  private void write(String node, LastWatched watched, GpuLabels.Change change) {
    String patch =
        NodePatch.of(
            watched.resourceVersion(),
            change.labels(),
            Map.of(Names.NODE_LABELS, change.labelsAnnotation()));
    Future<?> patched = context.api().patchNode(node, PatchType.JSON_MERGE, patch);
    underWay.add(node);
    patched
        .onSuccess(done -> LOG.info("labelled node {}: {}", node, change.labelsAnnotation()))
        .onFailure(e -> LOG.info("cannot label node {}, will retry: {}", node, e.toString()))
        .onComplete(done -> underWay.remove(node));
  }
}
