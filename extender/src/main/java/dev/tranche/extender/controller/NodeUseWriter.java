package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.extender.controller.NodeUse.Written;
import dev.tranche.extender.metrics.ExtenderMetrics;
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
 * Keeps an annotation on each GPU node that tells people how its GPUs are used. It is written on a
 * change only, at most once a minute to a node and a few times a second to all of them, and once an
 * hour without a change, so that an old one is recognized. kube-scheduler tries waiting pods again
 * when an annotation of any node changes: while pods wait, writes come together every five minutes,
 * as often as it tries them anyway.
 *
 * <p>Every extender that may decide does so; the time in the annotation and the resource version in
 * the patch let one of two equal ones through. Confined to the Ledger's loop.
 */
public final class NodeUseWriter {
  static final int WRITES_PER_SECOND_MAX = 5;

  /** Each node is looked at once in so many ticks, which are a second apart. */
  static final int TICKS_PER_ROUND = 60;

  /** As kube-scheduler's {@code podMaxInUnschedulablePodsDuration}. */
  static final long WHILE_PODS_WAIT_MS = 300_000;

  /** So long does it write then. */
  static final long BURST_MS = 20_000;

  static final Duration BETWEEN_WRITES = Duration.ofMinutes(1);
  static final Duration AGE_MAX = Duration.ofHours(1);

  private static final Logger LOG = LoggerFactory.getLogger(NodeUseWriter.class);

  private final NodePatcher patcher;
  private final BooleanSupplier deciding;
  private final Predicate<String> advertises;
  private final BooleanSupplier podsWait;
  private final Function<String, Optional<NodeUse>> use;
  private final LongSupplier clockMs;
  private final Supplier<Instant> now;
  private final Counter done;
  private final Counter failed;
  private final Map<String, Seen> nodes = new HashMap<>();
  private final Map<String, Long> withoutGpusSinceMs = new HashMap<>();
  private final Deque<String> round = new ArrayDeque<>();
  private final Set<String> due = new LinkedHashSet<>();
  private final Set<String> underWay = new HashSet<>();
  private @Nullable Long burstSinceMs;

  /**
   * A Node as last watched.
   *
   * @param written our annotation; empty: none
   */
  private record Seen(String resourceVersion, String written) {}

  /**
   * @param deciding whether this extender may decide at all, as a leader does
   * @param advertises whether the kubelet still offers a resource of ours on that node
   * @param podsWait whether some pod is not bound
   * @param use of a node; empty: it has no GPUs
   * @param clockMs of no certain start
   */
  public NodeUseWriter(
      NodePatcher patcher,
      BooleanSupplier deciding,
      Predicate<String> advertises,
      BooleanSupplier podsWait,
      Function<String, Optional<NodeUse>> use,
      LongSupplier clockMs,
      Supplier<Instant> now,
      ExtenderMetrics metrics) {
    this.patcher = patcher;
    this.deciding = deciding;
    this.advertises = advertises;
    this.podsWait = podsWait;
    this.use = use;
    this.clockMs = clockMs;
    this.now = now;
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

  /** A Node as last watched. */
  public void seen(String node, String resourceVersion, String written) {
    if (nodes.put(node, new Seen(resourceVersion, written)) == null) {
      round.add(node);
    }
  }

  public void gone(String node) {
    nodes.remove(node);
    round.remove(node);
    withoutGpusSinceMs.remove(node);
    due.remove(node);
  }

  /** Once a second: looks at some of the nodes, and writes what is due. */
  public void tick() {
    if (!deciding.getAsBoolean()) {
      due.clear();
      return;
    }
    int looks = (round.size() + TICKS_PER_ROUND - 1) / TICKS_PER_ROUND;
    for (int i = 0; i < looks; i++) {
      String node = round.remove();
      round.add(node);
      if (change(node).isPresent()) {
        due.add(node);
      }
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
      Seen seen = nodes.get(node);
      if (seen != null) {
        // It may have changed back.
        change(node).ifPresent(text -> write(node, seen, text));
      }
    }
  }

  /** What is to be written to a node, and empty text to remove it; empty: nothing. */
  private Optional<String> change(String node) {
    Seen seen = nodes.get(node);
    if (seen == null || underWay.contains(node)) {
      return Optional.empty();
    }
    Optional<NodeUse> current = use.apply(node);
    if (current.isEmpty()) {
      return removal(node, seen);
    }
    withoutGpusSinceMs.remove(node);
    Instant time = now.get();
    Optional<Written> written = NodeUse.read(seen.written());
    if (written.isPresent()) {
      Duration age = Duration.between(written.get().at(), time).abs();
      boolean changed = current.get().differsFrom(written.get().use());
      if (age.compareTo(changed ? BETWEEN_WRITES : AGE_MAX) < 0) {
        return Optional.empty();
      }
    }
    return Optional.of(current.get().text(time));
  }

  /** A plugin that only restarts leaves it as it is. */
  private Optional<String> removal(String node, Seen seen) {
    if (seen.written().isEmpty() || advertises.test(node)) {
      withoutGpusSinceMs.remove(node);
      return Optional.empty();
    }
    long sinceMs = withoutGpusSinceMs.computeIfAbsent(node, first -> clockMs.getAsLong());
    return clockMs.getAsLong() - sinceMs < NodeLabels.GONE_AFTER_MS
        ? Optional.empty()
        : Optional.of("");
  }

  private void write(String node, Seen seen, String text) {
    underWay.add(node);
    patcher
        .patch(node, NodePatch.of(seen.resourceVersion(), Map.of(), Map.of(Names.GPU_USE, text)))
        .onSuccess(written -> done.increment())
        .onFailure(e -> refused(node, e))
        .onComplete(any -> underWay.remove(node));
  }

  private void refused(String node, Throwable failure) {
    failed.increment();
    LOG.info("cannot write how GPUs of node {} are used, will retry: {}", node, failure.toString());
  }
}
