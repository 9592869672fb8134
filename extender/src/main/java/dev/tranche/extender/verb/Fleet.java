package dev.tranche.extender.verb;

import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeView;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.placement.Ask;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Outcome;
import dev.tranche.extender.placement.Placer;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.Policy;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/** The Ledger and the load side by side: what the verbs decide on. */
public final class Fleet {
  private final Ledger ledger;
  private final LoadCache loads;
  private final long youngMs;

  /**
   * @param youngMs for so long after it began a hold may be missing in the mean load
   */
  public Fleet(Ledger ledger, LoadCache loads, long youngMs) {
    this.ledger = ledger;
    this.loads = loads;
    this.youngMs = youngMs;
  }

  /**
   * @param counted the holds that count; the pod's own never does
   */
  public Evaluation evaluate(
      PodFacts pod, String node, Policy policy, Predicate<Hold> counted, long nowMs) {
    Predicate<Hold> others = hold -> !hold.uid().equals(pod.uid()) && counted.test(hold);
    NodeView view = ledger.view(node, others, nowMs);
    Ask ask = pod.ask(ledger.replicasPerGpu(node, pod.resource()));
    List<GpuView> gpus = gpus(view, nowMs);
    Outcome outcome =
        switch (view.availability()) {
          case SILENT -> new Outcome.DoesNotFit(Reason.NO_REPORT);
          case NOT_SERVING -> new Outcome.DoesNotFit(Reason.NOT_SERVING);
          case AVAILABLE -> Placer.place(ask, gpus, policy.order());
        };
    return new Evaluation(view.name(), ask, gpus, outcome);
  }

  /** A node's GPUs as a pod that is not there yet sees them. */
  public List<GpuView> gpus(NodeView view, long nowMs) {
    return view.gpus().stream().map(gpu -> gpu(view.name(), gpu, nowMs)).toList();
  }

  private GpuView gpu(String node, NodeView.Gpu gpu, long nowMs) {
    var facts = gpu.facts();
    Optional<LoadReading> reading = loads.get(node, facts.uuid());
    boolean measured = reading.isPresent() && !loads.stale(reading.get(), nowMs);
    int taken = facts.replicas() - gpu.freeReplicas();
    return new GpuView(
        facts.uuid(),
        facts.index(),
        facts.model(),
        facts.resource(),
        facts.replicas(),
        facts.healthy(),
        gpu.cordoned(),
        gpu.freeReplicas(),
        facts.clientsMax() == 0
            ? GpuView.UNLIMITED
            : Math.max(0, facts.clientsMax() - gpu.heldClients()),
        facts.memoryUsableBytes(),
        memoryFree(gpu, taken, reading),
        reading.map(r -> r.smMean() + unmeasured(gpu, r)).orElse((double) taken / facts.replicas()),
        measured,
        facts.healthy() ? facts.cordonReason() : facts.healthReason());
  }

  /**
   * What is measured cannot be told apart by pod yet, so the larger of granted and measured counts:
   * whatever is measured beyond the grants is taken for somebody else's. A reading past its age
   * still counts, since memory that was in use must not look free for want of news.
   */
  private static long memoryFree(NodeView.Gpu gpu, int taken, Optional<LoadReading> reading) {
    long usable = gpu.facts().memoryUsableBytes();
    long granted = usable / gpu.facts().replicas() * taken;
    long measured = reading.map(LoadReading::memoryUsedBytes).orElse(0L);
    return Math.max(0, usable - Math.max(granted, measured));
  }

  /** Granted shares of pods that began too late to be in the mean; it fades as the mean follows. */
  private double unmeasured(NodeView.Gpu gpu, LoadReading reading) {
    double share = 0;
    for (NodeView.Young young : gpu.young()) {
      double measured = (double) (reading.sampledAtMs() - young.sinceMs()) / youngMs;
      share += young.replicas() * (1 - Math.clamp(measured, 0, 1));
    }
    return share / gpu.facts().replicas();
  }
}
