package dev.tranche.extender;

import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.state.SchedulingState;
import dev.tranche.extender.stream.NodeStreams;

/** Registers gauges for the sizes of the extender's state. */
final class StateGauges {
  private StateGauges() {}

  static void register(
      ExtenderMetrics metrics, SchedulingCore core, SchedulingState state, NodeStreams streams) {
    metrics.gauge(
        "tranche.extender.pods.dropped",
        "Pods not kept in memory since the start because too many wait, have ended or are on"
            + " unknown nodes; they are still placed.",
        core.ledger::droppedPods);
    metrics.gauge("tranche.extender.streams", "Open streams of nodes.", streams::size);
    metrics.gauge(
        "tranche.pending.fragmented.pods",
        "Pending pods with enough free replicas on a node but not on any single GPU.",
        state.waiting::fragmented);
    metrics.gauge(
        "tranche.extender.ack.backoff.nodes",
        "Nodes that temporarily get no pods because they do not acknowledge assignments.",
        core.ledger.acknowledgements::backedOff);
    metrics.gauge(
        "tranche.extender.nominations",
        "Preempting pods whose GPU is held while their victims are evicted.",
        () -> core.ledger.nominatedPods().size());
    metrics.gauge(
        "tranche.extender.waiting.untried.nodes",
        "Nodes with newly freed replicas on which rejected pods have not been tried yet.",
        state.waiting::untriedNodes);
  }
}
