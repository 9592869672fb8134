package dev.tranche.webhook.mutate;

import dev.tranche.webhook.nodes.DecidingLabel;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Problem;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuRequests;
import java.util.ArrayList;
import java.util.List;

/** The outcome of a pod's GPU requests on the nodes that it can land on. */
sealed interface GrantResult {
  /**
   * @param granularity of the nodes that it is to land on
   * @param memory the nodes on which a request by memory is the granted share
   */
  record Granted(
      List<Grant> grants, ReplicaGranularity granularity, MemoryPin memory, List<String> warnings)
      implements GrantResult {
    /**
     * Keeps the pod on nodes where its replicas have the computed size.
     *
     * @param besideForeign whether other nodes would count the number in another way
     */
    void require(NodeAffinityPatch affinity, boolean besideForeign) {
      if (granularity.pinned() || besideForeign) {
        affinity.require(DecidingLabel.REPLICAS, String.valueOf(granularity.replicasPerGpu()));
      }
      memory.require(affinity);
    }
  }

  /** The pod is denied for these reasons. */
  record Refused(List<Problem> reasons) implements GrantResult {}

  /**
   * @param requests at least one
   * @param cluster with all nodes that are labelled
   * @param numbersCountGpus whether a number of the resource counts GPUs in this pod
   */
  static GrantResult of(
      PodView pod,
      GpuRequests requests,
      MutationRules.Cluster cluster,
      MutationRules rules,
      boolean numbersCountGpus) {
    List<GpuNode> nodes = cluster.nodes();
    CandidateNodes candidates = CandidateNodes.of(pod, requests, nodes, rules);
    ReplicaGranularity granularity =
        ReplicaGranularity.of(requests, candidates, cluster, rules.defaultReplicasPerGpu());
    var warnings = new ArrayList<String>();
    if (candidates.offMps()) {
      warnings.add(Warning.HOST_PID_OFF_MPS.of());
    }
    candidates.shmWarning(pod, requests, rules.resources().getFirst()).ifPresent(warnings::add);
    granularity.warning().ifPresent(warnings::add);
    if (candidates.sufficient().isEmpty() && !nodes.isEmpty()) {
      warnings.add(ProductSuffix.warning(pod, nodes).orElseGet(Warning.NO_NODE::of));
    }
    var pin = MemoryPin.NONE;
    long usableBytes = 0;
    if (requests.memoryBytesMax().isPresent()) {
      switch (GpuMemory.of(pod, requests, granularity, cluster, rules.memory())) {
        case GpuMemory.Refused(Problem reason) -> {
          return new Refused(List.of(reason));
        }
        case GpuMemory.Known known -> {
          known.warning().ifPresent(warnings::add);
          usableBytes = known.usableBytes();
          pin = known.pin();
          granularity = granularity.restrictedTo(pin);
        }
      }
    }
    List<Grant> grants = Grant.of(requests, granularity.replicasPerGpu(), usableBytes);
    String resource = rules.resources().getFirst();
    List<Problem> denials =
        PodRules.check(pod, requests, grants, granularity, resource, numbersCountGpus, warnings);
    LimitRules.check(pod, grants, granularity, usableBytes, rules.memory(), denials, warnings);
    if (!denials.isEmpty()) {
      return new Refused(denials);
    }
    requests.requests().stream()
        .map(GpuRequests.Request::container)
        .filter(c -> !c.spec().path("resources").path("claims").isEmpty())
        .map(c -> Warning.CLAIMS.of(c.name()))
        .forEach(warnings::add);
    return new Granted(grants, granularity, pin, warnings);
  }
}
