package dev.tranche.webhook.mutate;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.summingInt;

import dev.tranche.webhook.mutate.MutationRules.Cluster;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuRequests;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.function.ToIntFunction;

/**
 * The number of replicas per GPU on the nodes that a pod can land on.
 *
 * @param replicasPerGpu R
 * @param pinned whether nodes differ, so that the pod must be kept on those with this R
 * @param nodes the nodes with this R that accept the pod now
 * @param reachable the nodes with this R that accept the pod now, or later when a taint is removed
 */
record ReplicaGranularity(
    int replicasPerGpu, boolean pinned, List<GpuNode> nodes, List<GpuNode> reachable) {
  /** One node alone, against more of another number, does not decide about all pods. */
  private static final int QUORUM_NODES = 2;

  /** Where the pod can land nowhere, the default decides. */
  static ReplicaGranularity of(
      GpuRequests requests,
      CandidateNodes candidates,
      Cluster cluster,
      int defaultReplicasPerGpu,
      Messages messages) {
    Map<Integer, Integer> nodesByReplicas =
        candidates.schedulable().stream()
            .collect(groupingBy(ReplicaGranularity::replicas, TreeMap::new, summingInt(n -> 1)));
    int replicas =
        choose(
            nodesByReplicas,
            r ->
                (int)
                    candidates.schedulable().stream()
                        .filter(n -> replicas(n) == r)
                        // How much an amount of memory is, is not known yet: at least one replica.
                        .filter(cluster.haveRoom(Grant.of(requests, r, Long.MAX_VALUE)))
                        .count(),
            cluster.reviewUid(),
            defaultReplicasPerGpu);
    if (nodesByReplicas.size() > 1) {
      messages.warn(
          Warning.NODES_DISAGREE,
          nodesByReplicas.keySet().stream().map(String::valueOf).collect(joining(" or ")),
          replicas);
    }
    return new ReplicaGranularity(
        replicas,
        candidates.admitted().stream().anyMatch(n -> replicas(n) != replicas),
        candidates.schedulable().stream().filter(n -> replicas(n) == replicas).toList(),
        candidates.sufficient().stream().filter(n -> replicas(n) == replicas).toList());
  }

  private static int replicas(GpuNode labelled) {
    return labelled.replicasPerGpu().orElseThrow();
  }

  /** Restricts the nodes to those with that memory. */
  ReplicaGranularity restrictedTo(GpuMemory memory) {
    return new ReplicaGranularity(
        replicasPerGpu,
        pinned,
        nodes.stream().filter(memory::admits).toList(),
        reachable.stream().filter(memory::admits).toList());
  }

  /**
   * Returns the default if two nodes have it, or as many as have any other number, or if there are
   * no nodes. Otherwise, returns the number that most nodes have.
   */
  private static int choose(
      Map<Integer, Integer> nodesByReplicas,
      ToIntFunction<Integer> room,
      String reviewUid,
      int defaultReplicasPerGpu) {
    int most = nodesByReplicas.values().stream().mapToInt(Integer::intValue).max().orElse(0);
    int having = nodesByReplicas.getOrDefault(defaultReplicasPerGpu, 0);
    return having >= Math.min(most, QUORUM_NODES)
        ? defaultReplicasPerGpu
        : Majority.of(nodesByReplicas, room, reviewUid);
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
