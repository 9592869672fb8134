package dev.tranche.extender.explain;

import dev.tranche.api.Demand;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.snapshot.NodeFit;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
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
 * @param nodes all of them
 */
public record Survey(boolean known, List<NodeFit> nodes) {
  public static final Survey UNKNOWN = new Survey(false, List.of());

  /** More are not told apart; their names are long. */
  private static final int MODELS_MAX = 64;

  public static Survey of(List<NodeFit> nodes) {
    return new Survey(true, nodes);
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

  /** Returns what the pod needs; of nodes with several R, by the largest. */
  Optional<Demand> demand() {
    return nodes.stream()
        .map(node -> node.request().demand())
        .max(Comparator.comparingInt(Demand::replicasPerGpu));
  }

  boolean fits() {
    return fitting().isPresent();
  }

  boolean fitsOn(String node) {
    return nodes.stream().anyMatch(each -> each.fits() && each.node().equals(node));
  }

  private Optional<NodeFit> fitting() {
    return nodes.stream().filter(NodeFit::fits).findFirst();
  }

  /** Returns a node whose GPUs fit the pod; empty if there is none. */
  String fittingNode() {
    return fitting().map(NodeFit::node).orElse("");
  }

  /** Returns a model of that node's GPUs. */
  String fittingModel() {
    return fitting()
        .flatMap(node -> node.gpus().stream().findFirst())
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
    return among(told).or(() -> among(EnumSet.allOf(Reason.class)));
  }

  /** Returns the last of these reasons that some node has. */
  Optional<Reason> among(Set<Reason> reasons) {
    return nodes.stream()
        .map(NodeFit::refusal)
        .filter(refusal -> refusal != null && reasons.contains(refusal))
        .max(Reason::compareTo);
  }
}
