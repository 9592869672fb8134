package dev.tranche.webhook;

import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;

import dev.tranche.webhook.nodes.GpuNode;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;

/**
 * How finely the GPUs are cut that a pod can land on.
 *
 * @param replicasPerGpu R
 * @param pinned the nodes disagree, so the pod must be kept on those that are cut this way
 * @param warning says so
 * @param nodes cut this way
 */
record Cut(int replicasPerGpu, boolean pinned, Optional<String> warning, List<GpuNode> nodes) {
  Cut {
    nodes = List.copyOf(nodes);
  }

  /**
   * @param admitted nodes that the pod can land on; none: the default decides
   */
  static Cut of(List<GpuNode> admitted, int defaultReplicasPerGpu) {
    Map<Integer, Long> nodesByReplicas =
        admitted.stream()
            .collect(groupingBy(n -> n.replicasPerGpu().getAsInt(), TreeMap::new, counting()));
    int replicas = choose(nodesByReplicas, defaultReplicasPerGpu);
    boolean pinned = nodesByReplicas.size() > 1;
    String cuts = nodesByReplicas.keySet().stream().map(String::valueOf).collect(joining(", "));
    return new Cut(
        replicas,
        pinned,
        pinned ? Optional.of(Warning.NODES_DISAGREE.of(cuts, replicas)) : Optional.empty(),
        admitted.stream().filter(n -> n.replicasPerGpu().getAsInt() == replicas).toList());
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

  /** Of the largest node; absent where no node, or not every node, says its count. */
  OptionalInt gpusMax() {
    return nodes.stream().allMatch(n -> n.gpus().isPresent())
        ? nodes.stream().mapToInt(n -> n.gpus().getAsInt()).max()
        : OptionalInt.empty();
  }
}
