package dev.tranche.extender.controller;

import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.state.ReadinessGate;

/**
 * What each controller works with. Confined to the loop.
 *
 * @param core what is known of the cluster
 * @param readiness whether this extender may write
 */
public record ControllerContext(
    SchedulingCore core,
    ReadinessGate readiness,
    ApiWrites api,
    WatchedNodes nodes,
    NodeEvents events,
    ExtenderMetrics metrics) {
  public ControllerContext(
      SchedulingCore core, ReadinessGate readiness, ApiWrites api, ExtenderMetrics metrics) {
    this(
        core,
        readiness,
        api,
        new WatchedNodes(api, readiness::mayWrite, core.clockMs, metrics),
        new NodeEvents(api, readiness::mayWrite, core.clockMs, metrics),
        metrics);
  }

  /** Whether this extender may write, as a leader does. */
  boolean deciding() {
    return readiness.mayWrite();
  }

  long nowMs() {
    return core.nowMs();
  }

  /**
   * Whether the kubelet still offers one of our resources on that node. True for an unknown node,
   * so that nothing is removed from it.
   */
  boolean advertises(String node) {
    return core.ledger.node(node).map(NodeFacts::advertises).orElse(true);
  }
}
