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
 * The number of replicas per GPU on the nodes that a pod can land on.
 *
 * @param replicasPerGpu R
 * @param pinned whether nodes differ, so that the pod must be kept on those with this R
 * @param warning the warning for the owner if nodes differ
 * @param nodes the nodes with this R that accept the pod now
 * @param reachable the nodes with this R that accept the pod now, or later when a taint is removed
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
        candidates.schedulable().stream()
            .collect(groupingBy(ReplicaGranularity::replicas, TreeMap::new, counting()));
    int replicas = choose(nodesByReplicas, defaultReplicasPerGpu);
    String counts = nodesByReplicas.keySet().stream().map(String::valueOf).collect(joining(", "));
    return new ReplicaGranularity(
        replicas,
        candidates.admitted().stream().anyMatch(n -> replicas(n) != replicas),
        nodesByReplicas.size() > 1
            ? Optional.of(Warning.NODES_DISAGREE.of(counts, replicas))
            : Optional.empty(),
        candidates.schedulable().stream().filter(n -> replicas(n) == replicas).toList(),
        candidates.sufficient().stream().filter(n -> replicas(n) == replicas).toList());
  }

  private static int replicas(GpuNode labelled) {
    return labelled.replicasPerGpu().orElseThrow();
  }

  /**
   * Restricts the nodes to those labelled with one of these memory totals; an empty list allows
   * all.
   */
  ReplicaGranularity restrictedTo(List<String> memoryMib) {
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

  /**
   * Returns the default, unless there are nodes but none has it. In that case, returns the number
   * that most nodes have; on a tie, the smaller one.
   */
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
   * Returns the GPU count of the largest node, including nodes that are tainted or cordoned for a
   * while. Empty if there is no node, or if one does not state its count.
   */
  OptionalInt gpusMax() {
    return reachable.stream().allMatch(n -> n.gpus().isPresent())
        ? reachable.stream().mapToInt(n -> n.gpus().getAsInt()).max()
        : OptionalInt.empty();
  }
}
