package dev.tranche.extender.limit;

import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.process.TokenBucket;
import io.micrometer.core.instrument.Counter;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Limits the calls of the API server that one node can cause: a token bucket for each node, and one
 * for all nodes together. Whoever gets no token tries again later, with what is true then. Confined
 * to one event loop.
 */
public final class NodeRate {
  private static final long SWEEP_MS = 60_000;

  private final Limits limits;
  private final LongSupplier clockMs;
  private final Counter deferred;
  private final TokenBucket all;
  private final Map<String, TokenBucket> byNode = new HashMap<>();
  private long sweptMs;

  /**
   * @param burst calls of one node at once
   * @param refillMs the time after which the node may cause one more
   * @param burstOfAll calls of all nodes at once
   * @param perSecondOfAll calls of all nodes after that
   */
  public record Limits(int burst, long refillMs, int burstOfAll, int perSecondOfAll) {}

  /**
   * @param writer the value of the metric's label {@code writer}
   */
  public NodeRate(String writer, Limits limits, LongSupplier clockMs, ExtenderMetrics metrics) {
    this.limits = limits;
    this.clockMs = clockMs;
    this.deferred =
        metrics.counter(
            "tranche.extender.node.calls.deferred",
            "Calls of the API server on a node's account that were put off, since that node or all"
                + " nodes caused too many.",
            "writer",
            writer);
    sweptMs = clockMs.getAsLong();
    all = new TokenBucket(limits.burstOfAll(), limits.perSecondOfAll(), sweptMs);
  }

  /** Returns whether {@link #tryAcquire} would succeed now. */
  public boolean available(String node) {
    long nowMs = clockMs.getAsLong();
    TokenBucket own = byNode.get(node);
    return (own == null || own.available(nowMs)) && all.available(nowMs);
  }

  public boolean tryAcquire(String node) {
    if (!available(node)) {
      deferred.increment();
      return false;
    }
    long nowMs = clockMs.getAsLong();
    sweep(nowMs);
    byNode
        .computeIfAbsent(
            node, first -> new TokenBucket(limits.burst(), 1_000.0 / limits.refillMs(), nowMs))
        .take(1, nowMs);
    all.take(1, nowMs);
    return true;
  }

  private void sweep(long nowMs) {
    if (nowMs - sweptMs >= SWEEP_MS) {
      sweptMs = nowMs;
      byNode.values().removeIf(bucket -> bucket.full(nowMs));
    }
  }
}
