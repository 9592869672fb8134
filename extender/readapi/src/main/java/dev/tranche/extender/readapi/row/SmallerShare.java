package dev.tranche.extender.readapi.row;

import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.readapi.row.Decision.LargestShare;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeSnapshot;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The largest share with which a waiting pod would fit now, if it asked for less. Not thread-safe.
 */
final class SmallerShare {
  private final GpuRequest request;
  private final Policy policy;
  private final NodeEvaluator evaluator;
  private final Map<Integer, GpuRequest> smaller = new HashMap<>();

  /** Replicas of the largest share that was found to fit. */
  private int best;

  private String bestNode = "";

  private SmallerShare(GpuRequest request, Policy policy, NodeEvaluator evaluator) {
    this.request = request;
    this.policy = policy;
    this.evaluator = evaluator;
  }

  /**
   * Empty if the pod fits as it is, or with no smaller share. Also empty if it asks for plain
   * replicas, for shares of different sizes, or in several containers.
   *
   * @param nodes that the pod does not exclude
   */
  static Optional<LargestShare> of(
      PodFacts pod, Policy policy, List<NodeSnapshot> nodes, NodeEvaluator evaluator) {
    if (pod.stampedReplicas().isEmpty()) {
      return Optional.empty();
    }
    GpuRequest request = pod.gpuRequest(pod.stampedReplicas().getAsInt());
    if (request.shareReplicas() < 2) {
      return Optional.empty();
    }
    var search = new SmallerShare(request, policy, evaluator);
    if (nodes.stream().anyMatch(node -> search.fits(request, node))) {
      return Optional.empty();
    }
    nodes.forEach(search::searchNode);
    return search.best == 0
        ? Optional.empty()
        : Optional.of(LargestShare.of(search.best, request, search.bestNode));
  }

  /** Searches a node by bisection, as a smaller share fits wherever a larger one does. */
  private void searchNode(NodeSnapshot node) {
    int low = best;
    int high = request.shareReplicas() - 1;
    while (low < high) {
      // Few nodes are better than the best so far, so that is checked first.
      int middle = low == best ? low + 1 : (low + high + 1) / 2;
      if (fits(smaller.computeIfAbsent(middle, request::withShares), node)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    if (low > best) {
      best = low;
      bestNode = node.node();
    }
  }

  private boolean fits(GpuRequest asked, NodeSnapshot node) {
    return evaluator.fits(node, asked, policy);
  }
}
