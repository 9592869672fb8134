package dev.tranche.extender.preempt;

import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.preempt.Victims.Candidate;
import java.util.ArrayList;
import java.util.List;

/** Who may be evicted from a node for a pod. */
public final class Candidates {
  private Candidates() {}

  /** Bound pods of lower priority whose GPU is known, unless they should have ended long ago. */
  public static List<Candidate> of(Ledger ledger, PodFacts pod, String node, long nowMs) {
    var candidates = new ArrayList<Candidate>();
    for (Hold hold : ledger.holds(node)) {
      ledger
          .pod(hold.uid())
          .filter(other -> hold.stage() == Hold.Stage.BOUND && hold.placement() != null)
          .filter(other -> node.equals(other.node()) && mayGo(ledger, other, nowMs))
          .filter(other -> other.standing().priority() < pod.standing().priority())
          .ifPresent(other -> candidates.add(new Candidate(other, hold.held())));
    }
    return candidates;
  }

  private static boolean mayGo(Ledger ledger, PodFacts pod, long nowMs) {
    return !pod.standing().leaving() || ledger.leaving().soon(pod.uid(), nowMs);
  }
}
