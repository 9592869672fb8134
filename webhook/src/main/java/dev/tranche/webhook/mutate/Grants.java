package dev.tranche.webhook.mutate;

import dev.tranche.api.Names;
import dev.tranche.webhook.mutate.MutationRules.Cluster;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuRequests;
import java.util.List;
import java.util.Optional;

/**
 * What a pod's GPU requests get on the nodes that it can land on.
 *
 * @param granularity of the nodes that it is to land on
 * @param memory the nodes on which a request by memory is the granted share
 */
record Grants(List<Grant> list, ReplicaGranularity granularity, GpuMemory memory) {
  /**
   * @param requests at least one
   * @param numbersCountGpus whether a number of the resource counts GPUs in this pod
   * @return empty if the pod is denied
   */
  static Optional<Grants> of(
      PodView pod,
      GpuRequests requests,
      Cluster all,
      MutationRules rules,
      boolean numbersCountGpus,
      Messages messages) {
    Cluster cluster = pod.annotations().containsKey(Names.GPU_MODEL) ? all.ofModels() : all;
    List<GpuNode> nodes = cluster.nodes();
    CandidateNodes candidates = CandidateNodes.of(pod, requests, nodes, rules);
    if (candidates.offMps()) {
      messages.warn(Warning.HOST_PID_OFF_MPS);
    }
    String resource = rules.resource();
    candidates.warnOfShm(pod, requests, resource, messages);
    ReplicaGranularity granularity =
        ReplicaGranularity.of(
            requests, candidates, cluster, rules.defaultReplicasPerGpu(), messages);
    if (candidates.sufficient().isEmpty() && !nodes.isEmpty()) {
      messages.warn(Warning.NO_NODE);
    }
    GpuMemory memory = GpuMemory.ANY;
    if (requests.memoryBytesMax() > 0) {
      Optional<GpuMemory> known =
          new GpuMemory.Search(requests, granularity, cluster, rules.memory()).of(pod, messages);
      if (known.isEmpty()) {
        return Optional.empty();
      }
      memory = known.get();
      granularity = granularity.restrictedTo(memory);
    }
    List<Grant> grants = Grant.of(requests, granularity.replicasPerGpu(), memory.usableBytes());
    var granted = new Grants(grants, granularity, memory);
    new ShareRules(pod, resource, numbersCountGpus, messages).check(requests, granted);
    LimitRules.check(pod, granted, rules.memory(), messages);
    if (messages.denied()) {
      return Optional.empty();
    }
    requests.requests().stream()
        .map(GpuRequests.Request::container)
        .filter(c -> !c.spec().path("resources").path("claims").isEmpty())
        .forEach(c -> messages.warn(Warning.CLAIMS, c.name()));
    return Optional.of(granted);
  }

  /**
   * Keeps the pod on nodes where its replicas have the computed size.
   *
   * @param besideForeign whether other nodes would count the number in another way
   */
  void require(RequiredNodeAffinity affinity, boolean besideForeign) {
    if (granularity.pinned() || besideForeign) {
      String replicas = String.valueOf(granularity.replicasPerGpu());
      affinity.require(Names.LABEL_REPLICAS_PER_GPU, "In", List.of(replicas));
    }
    memory.require(affinity);
  }
}
