package dev.tranche.extender.state;

import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.metrics.ExtenderMetrics;

/**
 * The state that the verbs share, connected: whether they may decide, the pods that wait or are
 * nominated, and the only writer of it all. Confined to the loop, except where a part says
 * otherwise.
 */
public final class SchedulingState {
  public final ReadinessGate readiness;
  public final UnschedulablePods waiting;
  public final NominatedPods nominees;
  public final StateWriter writer;
  public final PodWaker waker;

  public SchedulingState(
      SchedulingCore core, NodePlugins nodes, ApiServer api, ExtenderMetrics metrics) {
    this.readiness = new ReadinessGate(core.ledger::allReported, core.clockMs);
    this.writer = new StateWriter(core, nodes, api, metrics);
    this.waiting = writer.waiting;
    this.nominees = writer.nominees;
    this.waker = new PodWaker(core, readiness, waiting, api, metrics);
  }
}
