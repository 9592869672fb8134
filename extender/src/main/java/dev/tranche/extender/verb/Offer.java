package dev.tranche.extender.verb;

import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.Scores;
import dev.tranche.extender.score.TopK;
import dev.tranche.extender.snapshot.NodeFit;
import java.util.ArrayList;
import java.util.List;

/**
 * Which of the nodes that fit are offered to kube-scheduler.
 *
 * @param offeredMax so many at most, the best; 0: all
 * @param turn where the last search among equals began
 */
record Offer(Policy policy, int offeredMax, int turn) {
  private boolean chooses(List<NodeFit> fitting) {
    boolean all = fitting.size() <= offeredMax && policy != Policy.SPARING;
    return offeredMax > 0 && fitting.size() > 1 && !all;
  }

  /** Where this search begins; the same as before where all nodes are offered. */
  int turnAfter(List<NodeFit> fitting) {
    return chooses(fitting) ? (turn + offeredMax) % fitting.size() : turn;
  }

  List<NodeFit> of(List<NodeFit> fitting) {
    if (!chooses(fitting)) {
      return fitting;
    }
    int first = turnAfter(fitting);
    if (policy == Policy.SPARING) {
      return leastCost(fitting, first);
    }
    int[] scores = new int[fitting.size()];
    for (int i = 0; i < scores.length; i++) {
      scores[i] = fitting.get(i).headroom();
    }
    return TopK.of(scores, offeredMax, first).stream().map(fitting::get).toList();
  }

  private List<NodeFit> leastCost(List<NodeFit> fitting, int first) {
    double least = Double.POSITIVE_INFINITY;
    for (NodeFit evaluation : fitting) {
      least = Math.min(least, evaluation.cost());
    }
    var offered = new ArrayList<NodeFit>(offeredMax);
    for (int i = 0; i < fitting.size() && offered.size() < offeredMax; i++) {
      NodeFit evaluation = fitting.get((first + i) % fitting.size());
      if (Scores.alike(evaluation.cost(), least)) {
        offered.add(evaluation);
      }
    }
    return offered;
  }
}
