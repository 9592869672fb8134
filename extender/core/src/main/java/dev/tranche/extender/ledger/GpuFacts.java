package dev.tranche.extender.ledger;

import java.util.Map;

/**
 * A GPU as its node reports it.
 *
 * @param replicas R, at least 1
 * @param healthReason empty when healthy
 * @param clientsMax limit of MPS clients; 0: no limit
 * @param cordonReason why the node places no new pods on it although it is healthy; otherwise empty
 * @param withheldReplicas replicas that no pod can get, since containers hold that part of the GPU
 *     as replicas of an earlier config
 * @param limited by {@code namespace/pod}, of those whose memory must be limited
 */
public record GpuFacts(
    String uuid,
    int index,
    String model,
    String resource,
    int replicas,
    long memoryUsableBytes,
    boolean healthy,
    String healthReason,
    int clientsMax,
    String cordonReason,
    int withheldReplicas,
    Map<String, Limited> limited) {
  public GpuFacts {
    limited = Map.copyOf(limited);
  }
}
