package dev.tranche.extender.snapshot;

import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.Scores;
import dev.tranche.extender.score.TopK;
import java.util.ArrayList;
import java.util.List;

/**
 * Selects which of the nodes that fit are offered to kube-scheduler.
 *
 * @param offeredMax the most nodes to offer, the best first; 0: all
 * @param rotation where the last search among nodes of equal score started
 */
public record Offer(Policy policy, int offeredMax, int rotation) {
  private boolean chooses(List<NodeFit> fitting) {
    boolean all = fitting.size() <= offeredMax && policy != Policy.LOAD_SPARING_IDLE;
    return offeredMax > 0 && fitting.size() > 1 && !all;
  }

  /** Returns where this search starts; unchanged if all nodes are offered. */
  public int rotationAfter(List<NodeFit> fitting) {
    return chooses(fitting) ? (rotation + offeredMax) % fitting.size() : rotation;
  }

  public List<NodeFit> of(List<NodeFit> fitting) {
    if (!chooses(fitting)) {
      return fitting;
    }
    int first = rotationAfter(fitting);
    if (policy == Policy.LOAD_SPARING_IDLE) {
      return leastCost(fitting, first);
    }
    return TopK.of(NodeFit.headrooms(fitting), offeredMax, first).stream()
        .map(fitting::get)
        .toList();
  }

  private List<NodeFit> leastCost(List<NodeFit> fitting, int first) {
    double least = fitting.stream().mapToDouble(NodeFit::cost).min().orElseThrow();
    var offered = new ArrayList<NodeFit>(offeredMax);
    for (int i = 0; i < fitting.size() && offered.size() < offeredMax; i++) {
      NodeFit evaluation = fitting.get((first + i) % fitting.size());
      if (Scores.equalCost(evaluation.cost(), least)) {
        offered.add(evaluation);
      }
    }
    return offered;
  }
}
