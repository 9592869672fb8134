package dev.tranche.webhook.mutate;

import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;

import dev.tranche.api.Names;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.Warning;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * How finely the GPUs are split that a pod can land on.
 *
 * @param replicasPerGpu R
 * @param pinned the nodes disagree, so the pod must be kept on those that are cut this way
 * @param warning says so
 * @param nodes cut this way that take the pod now
 * @param reachable cut this way that may take it later, when a taint has gone
 */
record ReplicaGranularity(
    int replicasPerGpu,
    boolean pinned,
    Optional<String> warning,
    List<GpuNode> nodes,
    List<GpuNode> reachable) {
  /** Where the pod can land nowhere, the default decides. */
  static ReplicaGranularity of(CandidateNodes candidates, int defaultReplicasPerGpu) {
    Map<Integer, Long> nodesByReplicas =
        candidates.open().stream()
            .collect(groupingBy(ReplicaGranularity::replicas, TreeMap::new, counting()));
    int replicas = choose(nodesByReplicas, defaultReplicasPerGpu);
    String cuts = nodesByReplicas.keySet().stream().map(String::valueOf).collect(joining(", "));
    return new ReplicaGranularity(
        replicas,
        candidates.admitted().stream().anyMatch(n -> replicas(n) != replicas),
        nodesByReplicas.size() > 1
            ? Optional.of(Warning.NODES_DISAGREE.of(cuts, replicas))
            : Optional.empty(),
        candidates.open().stream().filter(n -> replicas(n) == replicas).toList(),
        candidates.able().stream().filter(n -> replicas(n) == replicas).toList());
  }

  private static int replicas(GpuNode labelled) {
    return labelled.replicasPerGpu().orElseThrow();
  }

  /** The same, on nodes labelled with that memory alone; none: on all of them. */
  ReplicaGranularity on(List<String> memoryMib) {
    Predicate<GpuNode> labelled =
        n -> memoryMib.contains(n.labels().getOrDefault(Names.LABEL_MEMORY, ""));
    return memoryMib.isEmpty()
        ? this
        : new ReplicaGranularity(
            replicasPerGpu,
            pinned,
            warning,
            nodes.stream().filter(labelled).toList(),
            reachable.stream().filter(labelled).toList());
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

  /**
   * Of the largest node, also of those that are tainted or cordoned for a while; absent where no
   * node, or not every node, says its count.
   */
  OptionalInt gpusMax() {
    return reachable.stream().allMatch(n -> n.gpus().isPresent())
        ? reachable.stream().mapToInt(n -> n.gpus().getAsInt()).max()
        : OptionalInt.empty();
  }
}
