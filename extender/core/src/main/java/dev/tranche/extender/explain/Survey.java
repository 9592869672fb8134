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
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * How a pod fits the cluster's GPUs, whatever else keeps it from their nodes.
 *
 * @param known false if no node was looked at
 * @param fitting the nodes whose GPUs fit the pod, in the order in which they were looked at
 * @param refused for each reason, the refused node with the most free on one GPU
 * @param nodes all of them; models and splits are read only for some causes
 */
public record Survey(
    boolean known, Set<String> fitting, Map<Reason, NodeFit> refused, List<NodeFit> nodes) {
  public static final Survey UNKNOWN = of(false, List.of());

  /** More are not told apart; their names are long. */
  private static final int MODELS_MAX = 64;

  public static Survey of(List<NodeFit> nodes) {
    return of(true, nodes);
  }

  private static Survey of(boolean known, List<NodeFit> nodes) {
    var fitting = new LinkedHashSet<String>();
    var refused = new EnumMap<Reason, NodeFit>(Reason.class);
    var most = new EnumMap<Reason, int[]>(Reason.class);
    for (NodeFit node : nodes) {
      Reason refusal = node.refusal();
      if (refusal == null) {
        fitting.add(node.node());
      } else {
        int free = FitErrorText.largestFreeOnOneGpu(node);
        int[] before = most.computeIfAbsent(refusal, reason -> new int[] {-1});
        if (free > before[0]) {
          before[0] = free;
          refused.put(refusal, node);
        }
      }
    }
    return new Survey(
        known, Collections.unmodifiableSet(fitting), Collections.unmodifiableMap(refused), nodes);
  }

  /** Returns the models of all GPUs of the resource. */
  SortedSet<String> models() {
    return gpus()
        .map(GpuView::model)
        .distinct()
        .limit(MODELS_MAX)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Returns into how many replicas these GPUs are split. */
  SortedSet<Integer> splits() {
    return gpus().map(GpuView::replicas).collect(Collectors.toCollection(TreeSet::new));
  }

  /** Returns how many nodes have GPUs. */
  int gpuNodes() {
    return (int) nodes.stream().filter(node -> !node.gpus().isEmpty()).count();
  }

  /** Returns whether some node would fit the pod by its number of GPUs, if all were free. */
  boolean largeEnough() {
    return nodes.stream()
        .anyMatch(
            node ->
                node.gpus().stream().mapToInt(GpuView::replicas).sum()
                    >= node.request().demand().peakReplicas());
  }

  private Stream<GpuView> gpus() {
    return nodes.stream()
        .flatMap(
            node ->
                node.gpus().stream()
                    .filter(gpu -> gpu.resource().equals(node.request().demand().resource())));
  }

  public boolean fits() {
    return !fitting.isEmpty();
  }

  /** Returns a node whose GPUs fit the pod; empty if there is none. */
  String fittingNode() {
    return fits() ? fitting.iterator().next() : "";
  }

  /** Returns a model of that node's GPUs. */
  String fittingModel() {
    return nodes.stream()
        .filter(node -> node.node().equals(fittingNode()))
        .flatMap(node -> node.gpus().stream())
        .findFirst()
        .map(GpuView::model)
        .orElse("");
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
