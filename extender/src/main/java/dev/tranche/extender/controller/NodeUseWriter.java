package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.extender.watch.WatchedNode;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

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
  static final int TICKS_PER_ROUND = 20;

  /**
   * The time from burst to burst while pods wait: kube-scheduler's {@code
   * podMaxInUnschedulablePodsDuration}.
   */
  static final long WHILE_PODS_WAIT_MS = 300_000;

  /** How long each burst of writes lasts: one round. */
  static final long BURST_MS = 1_000L * TICKS_PER_ROUND;

  static final Duration BETWEEN_WRITES = Duration.ofMinutes(1);
  static final Duration AGE_MAX = Duration.ofHours(1);

  /** Where the webhook would expect more room without it. It ignores what is ten minutes old. */
  static final Duration FREE_SHARE_AGE_MAX = Duration.ofMinutes(5);

  private final ControllerContext context;
  private final Function<String, Optional<NodeUse>> use;
  private final Map<String, Written> written = new HashMap<>();
  private final Map<String, Long> withoutGpusSinceMs = new HashMap<>();

  /** The nodes that are still to be checked in this round. */
  private Iterator<WatchedNode> round = Collections.emptyIterator();

  /** How many writes this tick may still do. */
  private int writesLeft;

  private @Nullable Long burstSinceMs;

  /** What this extender wrote last to a node, and when. */
  private record Written(NodeUse use, long atMs) {}

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
                    context.core().fits.nodeGpus(node, context.nowMs()).gpus(),
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
  }

  @Override
  public void nodeGone(String node) {
    written.remove(node);
    withoutGpusSinceMs.remove(node);
  }

  /** Checks some of the nodes and writes what is due; to be called once a second. */
  @Override
  public void tick() {
    if (!context.deciding()) {
      // Another one may write meanwhile.
      written.clear();
      return;
    }
    Collection<WatchedNode> all = context.nodes().all();
    if (all.isEmpty() || !mayWrite()) {
      return;
    }
    writesLeft = WRITES_PER_SECOND_MAX;
    int checks = (all.size() + TICKS_PER_ROUND - 1) / TICKS_PER_ROUND;
    for (int i = 0; i < checks && writesLeft > 0; i++) {
      round = round.hasNext() ? round : all.iterator();
      String name = round.next().key();
      context
          .metrics()
          .failures
          .onNode(name, () -> context.nodes().get(name).ifPresent(this::check));
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

  private void check(WatchedNode node) {
    Optional<NodeUse> now = use.apply(node.key());
    if (now.map(its -> isDue(node, its)).orElseGet(() -> isToBeRemoved(node))) {
      write(node, now);
    }
  }

  private boolean isDue(WatchedNode node, NodeUse now) {
    withoutGpusSinceMs.remove(node.key());
    Written before = written.get(node.key());
    Duration unchangedMax = now.granted().sharesLess() ? FREE_SHARE_AGE_MAX : AGE_MAX;
    return before == null
        || node.useAnnotation().isEmpty()
        || context.nowMs() - before.atMs()
            >= (now.differsFrom(before.use()) ? BETWEEN_WRITES : unchangedMax).toMillis();
  }

  /** Applies to a node without GPUs, but not while a plugin only restarts. */
  private boolean isToBeRemoved(WatchedNode node) {
    if (node.useAnnotation().isEmpty() || context.advertises(node.key())) {
      withoutGpusSinceMs.remove(node.key());
      return false;
    }
    long sinceMs = withoutGpusSinceMs.computeIfAbsent(node.key(), first -> context.nowMs());
    return context.nowMs() - sinceMs >= NodeLabels.GONE_AFTER_MS;
  }

  /**
   * @param now empty: the annotation is removed
   */
  private void write(WatchedNode node, Optional<NodeUse> now) {
    writesLeft--;
    String text = now.map(its -> its.text(Instant.now())).orElse("");
    context
        .nodes()
        .patch(
            node,
            Names.GPU_USE,
            Map.of(),
            Map.of(Names.GPU_USE, text),
            () -> now.ifPresent(its -> written.put(node.key(), new Written(its, context.nowMs()))));
  }
}
