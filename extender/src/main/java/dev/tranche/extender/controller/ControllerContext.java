package dev.tranche.extender.controller;

import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.state.ReadinessGate;

/**
 * What each controller works with. Confined to the loop.
 *
 * @param core what is known of the cluster
 * @param readiness whether this extender may write
 * @param rate of the patches that a node causes
 * @param eventRate of the events that a node causes, so that they do not hold up patches
 */
public record ControllerContext(
    SchedulingCore core,
    ReadinessGate readiness,
    ApiWrites api,
    NodeRate rate,
    NodeRate eventRate,
    ExtenderMetrics metrics) {
  /** All nodes need labels at once only once. */
  static final NodeRate.Limits RATE = new NodeRate.Limits(10, 10_000, 256, 50);

  /** A node that keeps its events sends 64 at once. */
  static final NodeRate.Limits EVENT_RATE = new NodeRate.Limits(64, 10_000, 256, 20);

  public ControllerContext(
      SchedulingCore core, ReadinessGate readiness, ApiWrites api, ExtenderMetrics metrics) {
    this(
        core,
        readiness,
        api,
        new NodeRate("writes", RATE, core.clockMs, metrics),
        new NodeRate("events", EVENT_RATE, core.clockMs, metrics),
        metrics);
  }

  /** Whether this extender may write, as a leader does. */
  boolean deciding() {
    return readiness.mayWrite();
  }

  long nowMs() {
    return core.clockMs.getAsLong();
  }

  /**
   * Whether the kubelet still offers one of our resources on that node. True for an unknown node,
   * so that nothing is removed from it.
   */
  boolean advertises(String node) {
    return core.ledger.node(node).map(NodeFacts::advertises).orElse(true);
  }
}
