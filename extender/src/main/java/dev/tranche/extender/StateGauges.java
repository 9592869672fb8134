package dev.tranche.extender;

import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.snapshot.PackedPolicy;
import dev.tranche.extender.state.NominatedPods;
import dev.tranche.extender.state.UnschedulablePods;
import dev.tranche.extender.stream.NodeStreams;

/** Registers gauges for the sizes of the extender's state. */
final class StateGauges {
  private StateGauges() {}

  static void register(
      ExtenderMetrics metrics,
      Ledger ledger,
      NodeStreams streams,
      LoadCache loads,
      PackedPolicy packing,
      UnschedulablePods waiting,
      NominatedPods nominees) {
    metrics.gauge("tranche.extender.streams", "Open streams of nodes.", streams::size);
    metrics.gauge(
        "tranche.extender.reports.kept.bytes",
        "Size of the last whole reports of all nodes; bounded.",
        streams::keptBytes);
    metrics.gauge(
        "tranche.extender.load.pods",
        "Pods that are remembered with the load readings of GPUs; bounded for each node.",
        loads::pods);
    metrics.gauge(
        "tranche.pending.fragmented.pods",
        "Pending pods with enough free replicas on a node but not on any single GPU.",
        waiting::fragmented);
    metrics.gauge(
        "tranche.extender.nominations",
        "Pods that others are evicted for and whose GPU is held meanwhile.",
        ledger::nominations);
    metrics.gauge(
        "tranche.extender.nominees",
        "Pods that kube-scheduler has nominated, whoever chose their victims; bounded.",
        nominees::size);
    metrics.gauge(
        "tranche.extender.packing.shapes",
        "Different shapes of pods that policy packed tells apart.",
        packing::shapes);
    metrics.gauge(
        "tranche.extender.packing.pods",
        "Pods whose CPU and memory on their nodes policy packed knows.",
        packing::pods);
    metrics.gauge(
        "tranche.extender.waiting.pods",
        "Rejected pods that are woken when a GPU has room.",
        waiting::size);
    metrics.gauge(
        "tranche.extender.waiting.untried.nodes",
        "Nodes whose room has grown and that rejected pods are still to be tried on.",
        waiting::untriedNodes);
  }
}
