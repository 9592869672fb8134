package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.extender.controller.NodeUse.Written;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.watch.WatchedNode;
import dev.tranche.process.meters.Failures;
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
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
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
 * <p>Each extender that may decide writes. Of two equal patches, the time in the annotation and the
 * resource version let one through. Confined to the Ledger's loop.
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

  private final NodePatcher patcher;
  private final BooleanSupplier deciding;
  private final Predicate<String> advertises;
  private final BooleanSupplier podsWait;
  private final Function<String, Optional<NodeUse>> use;
  private final LongSupplier clockMs;
  private final Supplier<Instant> now;
  private final Failures failures;
  private final Counter done;
  private final Counter failed;
  private final Map<String, LastWatched> nodes = new HashMap<>();
  private final Map<String, Long> withoutGpusSinceMs = new HashMap<>();
  private final Deque<String> round = new ArrayDeque<>();
  private final Set<String> due = new LinkedHashSet<>();
  private final Set<String> underWay = new HashSet<>();
  private @Nullable Long burstSinceMs;

  /**
   * A Node as last watched.
   *
   * @param useAnnotation our annotation; empty: none
   */
  private record LastWatched(String resourceVersion, String useAnnotation) {}

  /**
   * @param deciding whether this extender may decide at all, as a leader does
   * @param advertises whether the kubelet still offers one of our resources on that node
   * @param podsWait whether some pod is not bound
   * @param use of a node; empty if it has no GPUs
   * @param clockMs with an arbitrary origin
   */
  public NodeUseWriter(
      NodePatcher patcher,
      BooleanSupplier deciding,
      Predicate<String> advertises,
      BooleanSupplier podsWait,
      Function<String, Optional<NodeUse>> use,
      LongSupplier clockMs,
      Supplier<Instant> now,
      ExtenderMetrics metrics,
      Failures failures) {
    this.patcher = patcher;
    this.deciding = deciding;
    this.advertises = advertises;
    this.podsWait = podsWait;
    this.use = use;
    this.clockMs = clockMs;
    this.now = now;
    this.failures = failures;
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
    seen(node.key(), node.resourceVersion(), node.useAnnotation());
  }

  void seen(String node, String resourceVersion, String useAnnotation) {
    if (nodes.put(node, new LastWatched(resourceVersion, useAnnotation)) == null) {
      round.add(node);
    }
  }

  @Override
  public void nodeGone(String node) {
    nodes.remove(node);
    round.remove(node);
    withoutGpusSinceMs.remove(node);
    due.remove(node);
  }

  /** Checks some of the nodes and writes what is due; to be called once a second. */
  @Override
  public void tick() {
    if (!deciding.getAsBoolean()) {
      due.clear();
      return;
    }
    int checks = (round.size() + TICKS_PER_ROUND - 1) / TICKS_PER_ROUND;
    for (int i = 0; i < checks; i++) {
      String node = round.remove();
      round.add(node);
      failures.onNode(
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
    if (!podsWait.getAsBoolean()) {
      return true;
    }
    long nowMs = clockMs.getAsLong();
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
        failures.onNode(node, () -> change(node).ifPresent(text -> write(node, watched, text)));
      }
    }
  }

  /**
   * Returns the text to write to a node, or an empty text to remove the annotation. Returns empty
   * if there is nothing to write.
   */
  private Optional<String> change(String node) {
    LastWatched watched = nodes.get(node);
    if (watched == null || underWay.contains(node)) {
      return Optional.empty();
    }
    Optional<NodeUse> current = use.apply(node);
    if (current.isEmpty()) {
      return removal(node, watched);
    }
    withoutGpusSinceMs.remove(node);
    Instant time = now.get();
    Optional<Written> written = NodeUse.read(watched.useAnnotation());
    if (written.isPresent()) {
      Duration age = Duration.between(written.get().at(), time).abs();
      boolean changed = current.get().differsFrom(written.get().use());
      Duration unchangedMax = current.get().granted().sharesLess() ? FREE_SHARE_AGE_MAX : AGE_MAX;
      if (age.compareTo(changed ? BETWEEN_WRITES : unchangedMax) < 0) {
        return Optional.empty();
      }
    }
    return Optional.of(current.get().text(time));
  }

  /**
   * Returns an empty text once the annotation can be removed, but not while a plugin only restarts.
   */
  private Optional<String> removal(String node, LastWatched watched) {
    if (watched.useAnnotation().isEmpty() || advertises.test(node)) {
      withoutGpusSinceMs.remove(node);
      return Optional.empty();
    }
    long sinceMs = withoutGpusSinceMs.computeIfAbsent(node, first -> clockMs.getAsLong());
    return clockMs.getAsLong() - sinceMs < NodeLabels.GONE_AFTER_MS
        ? Optional.empty()
        : Optional.of("");
  }

  private void write(String node, LastWatched watched, String text) {
    underWay.add(node);
    patcher
        .patch(node, NodePatch.of(watched.resourceVersion(), Map.of(), Map.of(Names.GPU_USE, text)))
        .onSuccess(written -> done.increment())
        .onFailure(e -> refused(node, e))
        .onComplete(any -> underWay.remove(node));
  }

  private void refused(String node, Throwable failure) {
    failed.increment();
    LOG.info("cannot write how GPUs of node {} are used, will retry: {}", node, failure.toString());
  }
}
