package dev.tranche.extender.client;

import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.process.TokenBucket;
import dev.tranche.process.TokenBuckets;
import io.micrometer.core.instrument.Counter;
import java.util.function.LongSupplier;

/**
 * Limits the calls of the API server that one node can cause: a token bucket for each node, and one
 * for all nodes together. Whoever gets no token tries again later, with what is true then. Confined
 * to one event loop.
 */
public final class NodeRate {
  private final Counter deferred;
  private final TokenBucket all;
  private final TokenBuckets byNode;

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
    this.deferred =
        metrics.counter(
            "tranche.extender.node.calls.deferred",
            "Calls of the API server on a node's account that were put off, since that node or all"
                + " nodes caused too many.",
            "writer",
            writer);
    this.all = new TokenBucket(limits.burstOfAll(), limits.perSecondOfAll(), clockMs);
    this.byNode = new TokenBuckets(limits.burst(), 1_000.0 / limits.refillMs(), clockMs);
  }

  /** Returns whether {@link #tryAcquire} would succeed now. */
  public boolean available(String node) {
    return byNode.of(node).available() && all.available();
  }

  public boolean tryAcquire(String node) {
    if (!available(node)) {
      deferred.increment();
      return false;
    }
    byNode.of(node).take(1);
    all.take(1);
    return true;
  }
}
