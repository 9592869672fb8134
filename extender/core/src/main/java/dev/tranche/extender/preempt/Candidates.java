package dev.tranche.extender.preempt;

import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.preempt.Victims.Candidate;
import java.util.ArrayList;
import java.util.List;

/** The pods that may be evicted from a node to make another pod fit. */
public final class Candidates {
  private Candidates() {}

  /**
   * Returns bound pods of lower priority whose GPU is known, unless they should have ended long
   * ago.
   */
  public static List<Candidate> of(Ledger ledger, PodFacts pod, String node, long nowMs) {
    var candidates = new ArrayList<Candidate>();
    for (Hold hold : ledger.holds(node)) {
      ledger
          .pod(hold.uid())
          .filter(other -> hold.stage() == Hold.Stage.BOUND && hold.placement() != null)
          .filter(other -> node.equals(other.node()) && evictable(ledger, other, nowMs))
          .filter(other -> other.preemption().priority() < pod.preemption().priority())
          .ifPresent(other -> candidates.add(new Candidate(other, hold.held())));
    }
    return candidates;
  }

  private static boolean evictable(Ledger ledger, PodFacts pod, long nowMs) {
    return !pod.preemption().terminating() || ledger.terminatingPods().ends(pod.uid(), nowMs);
  }
}
