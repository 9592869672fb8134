package dev.tranche.extender.preempt;

import dev.tranche.api.GpuPart;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeView;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.preempt.Victims.Candidate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The pods that may be evicted from a node to make another pod fit. */
public final class Candidates {
  private Candidates() {}

  /**
   * Returns bound pods of lower priority whose GPU is known, unless they should have ended long
   * ago.
   */
  public static List<Candidate> of(Ledger ledger, PodFacts pod, String node, long nowMs) {
    var candidates = new ArrayList<Candidate>();
    List<NodeView.Gpu> gpus = ledger.view(node, none -> false, nowMs).gpus();
    for (Hold hold : ledger.holds(node)) {
      ledger
          .pod(hold.uid())
          .filter(other -> hold.isBound() && hold.placement() != null)
          .filter(other -> node.equals(other.node()) && evictable(ledger, other, nowMs))
          .filter(other -> other.preemption().priority() < pod.preemption().priority())
          .ifPresent(other -> candidates.add(new Candidate(other, freed(ledger, hold, gpus))));
    }
    return candidates;
  }

  /** Returns what a hold has of each GPU, in the R that the GPU is split into now, rounded up. */
  private static Map<String, Integer> freed(Ledger ledger, Hold hold, List<NodeView.Gpu> gpus) {
    var freed = new HashMap<>(hold.held());
    for (NodeView.Gpu gpu : gpus) {
      GpuFacts facts = gpu.facts();
      freed.computeIfPresent(
          facts.uuid(),
          (uuid, n) -> GpuPart.of(n, ledger.countedIn(hold, facts)).replicas(facts.replicas()));
    }
    return freed;
  }

  private static boolean evictable(Ledger ledger, PodFacts pod, long nowMs) {
    return !pod.preemption().terminating() || ledger.terminatingPods.ends(pod.uid(), nowMs);
  }
}
