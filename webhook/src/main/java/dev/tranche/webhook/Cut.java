package dev.tranche.webhook;

import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;

import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.nodes.NodeSelection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;

/**
 * How finely the GPUs are cut that a pod can land on.
 *
 * @param replicasPerGpu R
 * @param pinned the nodes disagree, so the pod must be kept on those that are cut this way
 * @param warning says so
 * @param gpusMax of the largest node; absent where no node, or not every node, says its count
 */
record Cut(int replicasPerGpu, boolean pinned, Optional<String> warning, OptionalInt gpusMax) {

  static Cut of(PodView pod, List<GpuNode> nodes, int defaultReplicasPerGpu) {
    var selection = new NodeSelection(pod.spec());
    List<GpuNode> admitted =
        nodes.stream()
            .filter(n -> n.replicasPerGpu().isPresent())
            .filter(selection::admits)
            .toList();
    Map<Integer, Long> nodesByReplicas =
        admitted.stream()
            .collect(groupingBy(n -> n.replicasPerGpu().getAsInt(), TreeMap::new, counting()));
    int replicas = choose(nodesByReplicas, defaultReplicasPerGpu);
    boolean pinned = nodesByReplicas.size() > 1;
    return new Cut(
        replicas,
        pinned,
        pinned ? Optional.of(disagreement(nodesByReplicas.keySet(), replicas)) : Optional.empty(),
        gpusMax(admitted, replicas));
  }

  /** The default's, unless no node is cut that way: then that of most nodes, or the coarser. */
  private static int choose(Map<Integer, Long> nodesByReplicas, int defaultReplicasPerGpu) {
    if (nodesByReplicas.isEmpty() || nodesByReplicas.containsKey(defaultReplicasPerGpu)) {
      return defaultReplicasPerGpu;
    }
    return nodesByReplicas.entrySet().stream()
        .reduce((a, b) -> b.getValue() > a.getValue() ? b : a)
        .map(Map.Entry::getKey)
        .orElse(defaultReplicasPerGpu);
  }

  private static String disagreement(Set<Integer> cuts, int replicas) {
    String listed = cuts.stream().map(String::valueOf).collect(joining(", "));
    return "nodes that this pod can land on cut a GPU into %s replicas; it is kept on those with %d. Narrow its nodeSelector to choose"
        .formatted(listed, replicas);
  }

  private static OptionalInt gpusMax(List<GpuNode> admitted, int replicas) {
    List<GpuNode> eligible =
        admitted.stream().filter(n -> n.replicasPerGpu().getAsInt() == replicas).toList();
    return eligible.stream().allMatch(n -> n.gpus().isPresent())
        ? eligible.stream().mapToInt(n -> n.gpus().getAsInt()).max()
        : OptionalInt.empty();
  }
}
