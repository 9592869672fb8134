package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.watch.WatchedNode;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.micrometer.core.instrument.Counter;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps an annotation on each GPU node that shows people how its GPUs are used, and the webhook
 * which nodes have room. It is written only on a change, or once an hour, so that an outdated one
 * can be recognized. Writes are limited to one a minute per node and a few a second in all.
 *
 * <p>kube-scheduler retries pending pods when an annotation of any node changes. While pods are
 * pending, writes are therefore batched every five minutes, as often as it retries them anyway.
 *
 * <p>An extender that begins to decide writes each node once. Confined to the Ledger's loop.
 */
public final class NodeUseWriter implements Controller {
  static final int WRITES_PER_SECOND_MAX = 5;

  /** Each node is checked once in so many ticks, which are a second apart. */
  static final int TICKS_PER_ROUND = 60;

  /**
   * The time from burst to burst while pods wait: kube-scheduler's {@code
   * podMaxInUnschedulablePodsDuration}.
   */
  static final long WHILE_PODS_WAIT_MS = 300_000;

  /** How long each burst of writes lasts. */
  static final long BURST_MS = 20_000;

  static final Duration BETWEEN_WRITES = Duration.ofMinutes(1);
  static final Duration AGE_MAX = Duration.ofHours(1);

  /** Where the webhook would expect more room without it. It ignores what is ten minutes old. */
  static final Duration FREE_SHARE_AGE_MAX = Duration.ofMinutes(5);

  private static final Logger LOG = LoggerFactory.getLogger(NodeUseWriter.class);

  private final ControllerContext context;
  private final Function<String, Optional<NodeUse>> use;
  private final Map<String, LastWatched> nodes = new HashMap<>();
  private final Counter done;
  private final Counter failed;
  private final Map<String, Written> written = new HashMap<>();
  private final Map<String, Long> withoutGpusSinceMs = new HashMap<>();
  private final Deque<String> round = new ArrayDeque<>();
  private final Set<String> due = new LinkedHashSet<>();
  private final Set<String> underWay = new HashSet<>();
  private @Nullable Long burstSinceMs;

  /**
   * @param use to write; empty: the annotation is removed
   */
  private record Change(Optional<NodeUse> use) {}

  /** What this extender wrote last to a node, and when. */
  private record Written(NodeUse use, long atMs) {}

  /**
   * A Node as last watched.
   *
   * @param useAnnotation our annotation; empty: none
   */
  private record LastWatched(String resourceVersion, String useAnnotation) {}

  /**
   * @param resource what admission grants replicas of
   * @param wanted false: the annotation is removed
   */
  public NodeUseWriter(ControllerContext context, String resource, boolean wanted) {
    this(
        context,
        node ->
            wanted
                ? NodeUse.of(
                    context.core().fits.gpus(node, context.nowMs()),
                    resource,
                    context.core().loads,
                    node)
                : Optional.empty());
  }

  /**
   * @param use of a node; empty if it has no GPUs
   */
  NodeUseWriter(ControllerContext context, Function<String, Optional<NodeUse>> use) {
    this.context = context;
    this.use = use;
    ExtenderMetrics metrics = context.metrics();
    this.done = writes(metrics, "written");
    this.failed = writes(metrics, "failed");
    metrics.gauge(
        "tranche.extender.node.use.due",
        "Nodes whose annotation tranche.dev/gpu-use waits to be written.",
        due::size);
  }

  private static Counter writes(ExtenderMetrics metrics, String outcome) {
    return metrics.counter(
        "tranche.extender.node.use.writes",
        "Attempts to write or remove the annotation tranche.dev/gpu-use of a node.",
        "outcome",
        outcome);
  }

  @Override
  public void nodeSeen(WatchedNode node) {
    var watched = new LastWatched(node.resourceVersion(), node.useAnnotation());
    if (nodes.put(node.key(), watched) == null) {
      round.add(node.key());
    }
  }

  @Override
  public void nodeGone(String node) {
    nodes.remove(node);
    written.remove(node);
    round.remove(node);
    withoutGpusSinceMs.remove(node);
    due.remove(node);
  }

  /** Checks some of the nodes and writes what is due; to be called once a second. */
  @Override
  public void tick() {
    if (!context.deciding()) {
      due.clear();
      // Another one may write meanwhile.
      written.clear();
      return;
    }
    int checks = (round.size() + TICKS_PER_ROUND - 1) / TICKS_PER_ROUND;
    for (int i = 0; i < checks; i++) {
      String node = round.remove();
      round.add(node);
      context
          .metrics()
          .failures
          .onNode(
              node,
              () -> {
                if (change(node).isPresent()) {
                  due.add(node);
                }
              });
    }
    if (!due.isEmpty() && mayWrite()) {
      write();
    }
  }

  private boolean mayWrite() {
    if (!context.core().ledger.podsPending()) {
      return true;
    }
    long nowMs = context.nowMs();
    if (burstSinceMs == null || nowMs - burstSinceMs >= WHILE_PODS_WAIT_MS) {
      burstSinceMs = nowMs;
    }
    return nowMs - burstSinceMs < BURST_MS;
  }

  private void write() {
    Iterator<String> each = due.iterator();
    for (int i = 0; i < WRITES_PER_SECOND_MAX && each.hasNext(); i++) {
      String node = each.next();
      each.remove();
      LastWatched watched = nodes.get(node);
      if (watched != null) {
        // It may have changed back.
        context
            .metrics()
            .failures
            .onNode(node, () -> change(node).ifPresent(change -> write(node, watched, change)));
      }
    }
  }

  /** Returns what to write to a node; empty if there is nothing to write. */
  private Optional<Change> change(String node) {
    LastWatched watched = nodes.get(node);
    if (watched == null || underWay.contains(node)) {
      return Optional.empty();
    }
    Optional<NodeUse> now = use.apply(node);
    if (now.isEmpty()) {
      return removal(node, watched);
    }
    withoutGpusSinceMs.remove(node);
    Written before = written.get(node);
    Duration unchangedMax = now.get().granted().sharesLess() ? FREE_SHARE_AGE_MAX : AGE_MAX;
    boolean recent =
        before != null
            && !watched.useAnnotation().isEmpty()
            && context.nowMs() - before.atMs()
                < (now.get().differsFrom(before.use()) ? BETWEEN_WRITES : unchangedMax).toMillis();
    return recent ? Optional.empty() : Optional.of(new Change(now));
  }

  /** Removes the annotation of a node without GPUs, but not while a plugin only restarts. */
  private Optional<Change> removal(String node, LastWatched watched) {
    if (watched.useAnnotation().isEmpty() || context.advertises(node)) {
      withoutGpusSinceMs.remove(node);
      return Optional.empty();
    }
    long sinceMs = withoutGpusSinceMs.computeIfAbsent(node, first -> context.nowMs());
    return context.nowMs() - sinceMs < NodeLabels.GONE_AFTER_MS
        ? Optional.empty()
        : Optional.of(new Change(Optional.empty()));
  }

  private void write(String node, LastWatched watched, Change change) {
    String text = change.use().map(use -> use.text(Instant.now())).orElse("");
    underWay.add(node);
    context
        .api()
        .patchNode(
            node,
            PatchType.JSON_MERGE,
            NodePatch.of(watched.resourceVersion(), Map.of(), Map.of(Names.GPU_USE, text)))
        .onSuccess(patched -> written(node, change))
        .onFailure(e -> refused(node, e))
        .onComplete(any -> underWay.remove(node));
  }

  private void written(String node, Change change) {
    done.increment();
    change.use().ifPresent(use -> written.put(node, new Written(use, context.nowMs())));
  }

  private void refused(String node, Throwable failure) {
    failed.increment();
    LOG.info("cannot write how GPUs of node {} are used, will retry: {}", node, failure.toString());
  }
}
