package dev.tranche.extender.ledger;

import dev.tranche.extender.placement.GpuRequest;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;

/**
 * One pod's request, by the R of the nodes. Its name lists can be long, so they are read once. A
 * node may report another R with each report, so few are kept. Not thread-safe.
 */
public final class RequestsByReplicas {
  static final int COUNT_MAX = 16;

  private final PodFacts pod;
  private final OptionalInt stamped;
  final Map<Integer, GpuRequest> requests = new HashMap<>();

  public RequestsByReplicas(PodFacts pod) {
    this.pod = pod;
    this.stamped = pod.stampedReplicas();
  }

  /**
   * @param nodeReplicas R of the node, for a pod that does not carry an R itself
   */
  public GpuRequest of(int nodeReplicas) {
    int replicas = stamped.orElse(nodeReplicas);
    GpuRequest known = requests.get(replicas);
    if (known != null) {
      return known;
    }
    if (requests.size() >= COUNT_MAX) {
      requests.clear();
    }
    GpuRequest request = pod.gpuRequest(replicas);
    requests.put(replicas, request);
    return request;
  }
}
