package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.watch.GpuLabels;
import dev.tranche.extender.watch.WatchedNode;
import dev.tranche.process.meters.Failures;
import io.vertx.core.Future;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
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

  /** A node's labels change with its config or its GPUs; all nodes need them at once only once. */
  public static final NodeRate.Limits RATE = new NodeRate.Limits(10, 10_000, 256, 50);

  private static final Logger LOG = LoggerFactory.getLogger(NodeLabels.class);

  private final NodePatcher patcher;
  private final BooleanSupplier deciding;
  private final Predicate<String> advertises;
  private final LongSupplier clockMs;
  private final NodeRate rate;
  private final Failures failures;
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

  /**
   * @param deciding whether this extender may decide at all, as a leader does
   * @param advertises whether the kubelet still offers one of our resources on that node. If so,
   *     only our stream is missing, and another replica may have it.
   * @param rate of patches by node. One that is put off is tried at the next tick, with the labels
   *     that are right then
   */
  public NodeLabels(
      NodePatcher patcher,
      BooleanSupplier deciding,
      Predicate<String> advertises,
      LongSupplier clockMs,
      NodeRate rate,
      Failures failures) {
    this.patcher = patcher;
    this.deciding = deciding;
    this.advertises = advertises;
    this.clockMs = clockMs;
    this.rate = rate;
    this.failures = failures;
  }

  @Override
  public void nodeSeen(WatchedNode node) {
    seen(node.key(), node.resourceVersion(), node.labels(), node.labelsAnnotation());
  }

  public void seen(
      String node, String version, Map<String, String> labels, String labelsAnnotation) {
    @Nullable LastWatched before = nodes.get(node);
    long sinceMs = before == null ? clockMs.getAsLong() : before.sinceMs();
    nodes.put(node, new LastWatched(version, labels, labelsAnnotation, sinceMs));
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
      @Nullable LastReport before =
          lastReports.put(node, new LastReport(labels, clockMs.getAsLong()));
      if (before == null || !before.labels().equals(labels)) {
        reconcile(node);
      }
    }
  }

  /** Retries refused patches, and removes the labels of plugins that have gone. */
  @Override
  public void everyTenSeconds() {
    nodes.keySet().forEach(node -> failures.onNode(node, () -> reconcile(node)));
  }

  private void reconcile(String node) {
    LastWatched watched = nodes.get(node);
    if (watched == null || underWay.contains(node) || !deciding.getAsBoolean()) {
      return;
    }
    LastReport now = lastReports.get(node);
    long ageMs = clockMs.getAsLong() - (now == null ? watched.sinceMs() : now.atMs());
    boolean gone = ageMs > GONE_AFTER_MS && !advertises.test(node);
    if (!gone && now == null) {
      return;
    }
    Map<String, String> wanted =
        gone || now == null
            ? GpuLabels.permanent(watched.labels(), watched.labelsAnnotation())
            : now.labels();
    GpuLabels.change(watched.labels(), watched.labelsAnnotation(), wanted)
        .filter(change -> rate.tryAcquire(node))
        .ifPresent(change -> write(node, watched, change));
  }

  private void write(String node, LastWatched watched, GpuLabels.Change change) {
    String patch =
        NodePatch.of(
            watched.resourceVersion(),
            change.labels(),
            Map.of(Names.NODE_LABELS, change.labelsAnnotation()));
    Future<?> patched = patcher.patch(node, patch);
    underWay.add(node);
    patched
        .onSuccess(done -> LOG.info("labelled node {}: {}", node, change.labelsAnnotation()))
        .onFailure(e -> LOG.info("cannot label node {}, will retry: {}", node, e.toString()))
        .onComplete(done -> underWay.remove(node));
  }
}
