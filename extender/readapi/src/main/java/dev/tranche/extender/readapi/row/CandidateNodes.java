package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.Refusals;
import java.util.List;

/** Which nodes a pod fits on: some of them by name, and how many there are. */
public record CandidateNodes(
    List<Candidate> fitted,
    int fittedCount,
    List<Candidate> refused,
    int refusedCount,
    List<NodeCount> refusedByReason) {
  /**
   * @param fitted those that are shown
   */
  static CandidateNodes of(List<Candidate> fitted, int fittedCount, Refusals refusals) {
    return new CandidateNodes(
        fitted,
        fittedCount,
        refusals.nearest().stream().map(Candidate::of).toList(),
        refusals.count(),
        NodeCount.of(refusals));
  }
}
