package dev.tranche.extender.explain;

import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.selection.Exclusion;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.snapshot.NodeSnapshot;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * All nodes as they are for a pod now.
 *
 * @param usable those that the pod does not exclude
 * @param others all others
 * @param fits of the usable nodes
 * @param excluded how many nodes each of the pod's fields excludes
 */
public record NodesForPod(
    List<NodeSnapshot> usable,
    List<NodeSnapshot> others,
    List<NodeFit> fits,
    Map<Exclusion, Integer> excluded) {
  /** The largest share that would fit now, and a node that it fits. */
  public record SmallerShare(int replicas, int replicasPerGpu, String node) {}

  public static NodesForPod of(
      NodeEvaluator evaluator,
      PodFacts pod,
      Policy policy,
      List<NodeSnapshot> nodes,
      NodeFilter filter) {
    var excluded = new EnumMap<Exclusion, Integer>(Exclusion.class);
    var usable = new ArrayList<NodeSnapshot>(nodes.size());
    var others = new ArrayList<NodeSnapshot>();
    for (NodeSnapshot node : nodes) {
      Optional<Exclusion> why = filter.excludes(node.node());
      why.ifPresent(each -> excluded.merge(each, 1, Integer::sum));
      (why.isEmpty() ? usable : others).add(node);
    }
    return new NodesForPod(usable, others, evaluator.evaluate(pod, usable, policy), excluded);
  }

  /** Returns the fits of all nodes, with those that the pod excludes. */
  public List<NodeFit> everywhere(NodeEvaluator evaluator, PodFacts pod, Policy policy) {
    return Stream.concat(fits.stream(), evaluator.evaluate(pod, others, policy).stream()).toList();
  }

  public List<NodeFit> fitting() {
    return fits.stream().filter(NodeFit::fits).toList();
  }

  public int excludedCount() {
    return excluded.values().stream().mapToInt(Integer::intValue).sum();
  }

  /** Returns which of the pod's fields exclude all nodes, in words; empty if one is usable. */
  public String excludedBy() {
    return usable.isEmpty() ? Exclusion.ofAll(excluded.keySet().stream().map(Optional::of)) : "";
  }

  /**
   * Returns the largest share with which the pod would fit, if it asked for less. Empty if it fits
   * as it is, or with no smaller share. Also empty if it asks for plain replicas, for shares of
   * different sizes, or in several containers.
   */
  public Optional<SmallerShare> smallerShare(NodeEvaluator evaluator, PodFacts pod, Policy policy) {
    if (pod.stampedReplicas().isEmpty() || !fitting().isEmpty()) {
      return Optional.empty();
    }
    GpuRequest request = pod.gpuRequest(pod.stampedReplicas().getAsInt());
    Optional<SmallerShare> best = Optional.empty();
    // By bisection, as a smaller share fits wherever a larger one does.
    int low = 0;
    int high = request.shareReplicas() - 1;
    while (low < high) {
      int middle = (low + high + 1) / 2;
      GpuRequest smaller = request.withShares(middle);
      Optional<NodeSnapshot> node =
          usable.stream()
              .filter(each -> evaluator.evaluate(each, smaller, policy).fits())
              .findFirst();
      if (node.isPresent()) {
        best =
            Optional.of(
                new SmallerShare(middle, request.demand().replicasPerGpu(), node.get().node()));
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return best;
  }
}
