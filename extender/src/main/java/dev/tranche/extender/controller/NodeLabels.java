package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.watch.GpuLabels;
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
 * Labels GPU nodes from their reports where GPU Feature Discovery does not. Every extender that may
 * decide does so; the resource version in the patch lets one of two equal ones through. Confined to
 * the Ledger's loop.
 */
public final class NodeLabels {
  /** As long as the kubelet keeps the resources of a plugin that has gone. */
  static final long GONE_AFTER_MS = 300_000;

  /** A node reports every 5 s at least; what one said before it fell silent is not insisted on. */
  static final long FRESH_MS = 15_000;

  private static final Logger LOG = LoggerFactory.getLogger(NodeLabels.class);

  private final NodePatcher patcher;
  private final BooleanSupplier deciding;
  private final Predicate<String> advertises;
  private final LongSupplier clockMs;
  private final Map<String, Seen> nodes = new HashMap<>();
  private final Map<String, Shown> shown = new HashMap<>();
  private final Set<String> underWay = new HashSet<>();

  /**
   * A Node as last watched.
   *
   * @param written our annotation
   */
  private record Seen(
      String resourceVersion, Map<String, String> labels, String written, long sinceMs) {}

  /**
   * What a node's report asks for, and when it last had a GPU.
   *
   * @param last that was its last whole report
   */
  private record Shown(Map<String, String> labels, long atMs, boolean last) {}

  /**
   * @param deciding whether this extender may decide at all, as a leader does
   * @param advertises whether the kubelet still offers a resource of ours on that node: only our
   *     stream is missing then, and another replica may have it
   */
  public NodeLabels(
      NodePatcher patcher,
      BooleanSupplier deciding,
      Predicate<String> advertises,
      LongSupplier clockMs) {
    this.patcher = patcher;
    this.deciding = deciding;
    this.advertises = advertises;
    this.clockMs = clockMs;
  }

  public void seen(String node, String version, Map<String, String> labels, String written) {
    @Nullable Seen before = nodes.get(node);
    long sinceMs = before == null ? clockMs.getAsLong() : before.sinceMs();
    nodes.put(node, new Seen(version, labels, written, sinceMs));
  }

  public void gone(String node) {
    nodes.remove(node);
    shown.remove(node);
  }

  /** A node's report; without a GPU it says nothing, since a driver may only be loading. */
  public void reported(String node, NodeReport report) {
    if (!nodes.containsKey(node)) {
      // Gone, or not shown yet: the next whole report comes within seconds.
      return;
    }
    Map<String, String> labels = GpuLabels.of(report);
    if (!labels.isEmpty() && !report.getDraining()) {
      @Nullable Shown before = shown.put(node, new Shown(labels, clockMs.getAsLong(), true));
      if (before == null || !before.labels().equals(labels)) {
        settle(node);
      }
    } else {
      shown.computeIfPresent(node, (same, now) -> new Shown(now.labels(), now.atMs(), false));
    }
  }

  /** The same GPUs as before. */
  public void reportedAgain(String node) {
    shown.computeIfPresent(
        node, (same, now) -> now.last() ? new Shown(now.labels(), clockMs.getAsLong(), true) : now);
  }

  /** The clock's turn: what was refused is tried again, what a plugin offered goes with it. */
  public void tick() {
    nodes.keySet().forEach(this::settle);
  }

  private void settle(String node) {
    Seen seen = nodes.get(node);
    if (seen == null || underWay.contains(node) || !deciding.getAsBoolean()) {
      return;
    }
    Shown now = shown.get(node);
    long ageMs = clockMs.getAsLong() - (now == null ? seen.sinceMs() : now.atMs());
    Map<String, String> wanted = GpuLabels.lasting(seen.labels(), seen.written());
    if (now != null && ageMs <= FRESH_MS) {
      wanted = now.labels();
    } else if (ageMs <= GONE_AFTER_MS || advertises.test(node)) {
      // Another replica may hear the node still, and two must not write against each other.
      return;
    }
    GpuLabels.change(seen.labels(), seen.written(), wanted)
        .ifPresent(change -> write(node, seen, change));
  }

  private void write(String node, Seen seen, GpuLabels.Change change) {
    String patch =
        NodePatch.of(
            seen.resourceVersion(), change.labels(), Map.of(Names.NODE_LABELS, change.written()));
    Future<?> patched = patcher.patch(node, patch);
    underWay.add(node);
    patched
        .onSuccess(done -> LOG.info("labelled node {}: {}", node, change.written()))
        .onFailure(e -> LOG.info("cannot label node {}, will retry: {}", node, e.toString()))
        .onComplete(done -> underWay.remove(node));
  }
}
