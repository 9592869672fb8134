package dev.tranche.extender.ledger;

/**
 * A GPU as its node reports it.
 *
 * @param replicas R, at least 1
 * @param healthReason empty when healthy
 * @param clientsMax MPS clients; 0: no limit
 * @param cordonReason why the node takes no new pods on it though it is healthy; else empty
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
    String cordonReason) {
  /** One that takes new pods, if it is healthy. */
  public GpuFacts(
      String uuid,
      int index,
      String model,
      String resource,
      int replicas,
      long memoryUsableBytes,
      boolean healthy,
      String healthReason,
      int clientsMax) {
    this(
        uuid,
        index,
        model,
        resource,
        replicas,
        memoryUsableBytes,
        healthy,
        healthReason,
        clientsMax,
        "");
  }
}
