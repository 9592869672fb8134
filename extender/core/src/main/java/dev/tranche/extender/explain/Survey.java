package dev.tranche.extender.explain;

import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.snapshot.NodeFit;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * How a pod fits the cluster's GPUs, whatever else keeps it from their nodes.
 *
 * @param known false if no node was looked at
 * @param fitting the nodes whose GPUs fit the pod, in the order in which they were looked at
 * @param refused for each reason, the refused node with the most free on one GPU
 * @param models of all GPUs of the resource
 * @param splits into how many replicas these GPUs are split
 * @param gpuNodes how many nodes have GPUs
 */
public record Survey(
    boolean known,
    Set<String> fitting,
    Map<Reason, NodeFit> refused,
    SortedSet<String> models,
    SortedSet<Integer> splits,
    int gpuNodes) {
  public static final Survey UNKNOWN = of(false, List.of());

  /** More are not told apart; their names are long. */
  private static final int MODELS_MAX = 64;

  public static Survey of(List<NodeFit> nodes) {
    return of(true, nodes);
  }

  private static Survey of(boolean known, List<NodeFit> nodes) {
    var fitting = new LinkedHashSet<String>();
    var refused = new EnumMap<Reason, NodeFit>(Reason.class);
    var models = new TreeSet<String>();
    var splits = new TreeSet<Integer>();
    for (NodeFit node : nodes) {
      Optional<Reason> refusal = node.outcome().refusal();
      if (refusal.isPresent()) {
        refused.merge(refusal.get(), node, Survey::nearer);
      } else {
        fitting.add(node.node());
      }
      for (GpuView gpu : node.gpus()) {
        if (gpu.resource().equals(node.request().demand().resource())) {
          splits.add(gpu.replicas());
          if (models.size() < MODELS_MAX) {
            models.add(gpu.model());
          }
        }
      }
    }
    return new Survey(
        known,
        Collections.unmodifiableSet(fitting),
        Collections.unmodifiableMap(refused),
        Collections.unmodifiableSortedSet(models),
        Collections.unmodifiableSortedSet(splits),
        (int) nodes.stream().filter(node -> !node.gpus().isEmpty()).count());
  }

  private static NodeFit nearer(NodeFit one, NodeFit other) {
    return FitErrorText.largestFreeOnOneGpu(other) > FitErrorText.largestFreeOnOneGpu(one)
        ? other
        : one;
  }

  public boolean fits() {
    return !fitting.isEmpty();
  }

  /** Returns a node whose GPUs fit the pod; empty if there is none. */
  String fittingNode() {
    return fits() ? fitting.iterator().next() : "";
  }

  /**
   * Returns the reason of the node that came nearest to fitting: reasons are declared in the order
   * of the checks.
   *
   * @param told reasons that kube-scheduler was told; one of them comes before any other
   */
  Optional<Reason> nearest(Set<Reason> told) {
    return among(told).or(() -> among(refused.keySet()));
  }

  /** Returns the last of these reasons that some node has. */
  Optional<Reason> among(Set<Reason> reasons) {
    return refused.keySet().stream().filter(reasons::contains).max(Reason::compareTo);
  }
}
