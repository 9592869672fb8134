package dev.tranche.extender.placement;

/**
 * A snapshot of one GPU, as a pod that is to be placed sees it.
 *
 * @param replicas R
 * @param freeReplicas certainly free: neither held nor possibly held by pods whose GPU is not known
 * @param freeClients free MPS client slots; {@link #UNLIMITED} without a limit
 * @param memoryUsableBytes total less the driver's reserve
 * @param memoryFreeBytes usable less effective use: the larger of grant and measured use of each
 *     pod, plus measured use that belongs to no known pod
 * @param smLoad effective load: the measured mean plus granted shares too young to be measured; 0
 *     to 1, or above when more is expected than the GPU has
 * @param measured false without a reading or with a stale one; {@code smLoad} then means nothing
 * @param guarded whether replicas are refused that the real free memory cannot back
 * @param unfitBecause the node's reason why it is unhealthy or cordoned; otherwise empty
 * @param loadForecast forecast of the load; means nothing if the GPU is not measured
 * @param memoryUnattributedBytes measured use that belongs to no known pod
 */
public record GpuView(
    String uuid,
    int index,
    String model,
    String resource,
    int replicas,
    boolean healthy,
    boolean cordoned,
    int freeReplicas,
    int freeClients,
    long memoryUsableBytes,
    long memoryFreeBytes,
    double smLoad,
    boolean measured,
    boolean guarded,
    String unfitBecause,
    LoadForecast loadForecast,
    long memoryUnattributedBytes) {
  public static final int UNLIMITED = Integer.MAX_VALUE;

  /**
   * Part of the usable memory that may be missing before replicas are refused. A pod that uses its
   * share and a CUDA context besides must not block the rest of the GPU.
   */
  private static final double MEMORY_SLACK_RATIO = 0.005;

  /**
   * The same for memory that no known pod uses. An idle driver or a display server keeps some,
   * which must not make a whole GPU unplaceable.
   */
  private static final double UNATTRIBUTED_SLACK_RATIO = 0.015;

  /** Returns the memory that {@code share} replicas are granted. */
  public long grantedBytes(int share) {
    return memoryUsableBytes / replicas * share;
  }

  /** Returns the replicas that the real free memory can back; all of them without a guard. */
  public int replicasByMemory() {
    if (memoryUsableBytes <= 0 || !guarded) {
      return replicas;
    }
    double unattributed =
        Math.min((double) memoryUnattributedBytes, memoryUsableBytes * UNATTRIBUTED_SLACK_RATIO);
    double slack = memoryUsableBytes * MEMORY_SLACK_RATIO + unattributed;
    double backed = (memoryFreeBytes + slack) * replicas / memoryUsableBytes;
    return (int) Math.max(0, Math.min(replicas, Math.floor(backed)));
  }

  /** Returns the replicas that one more pod can have, by all that placement looks at. */
  public int freeShare() {
    return freeClients > 0 ? Math.min(freeReplicas, replicasByMemory()) : 0;
  }

  /** Returns whether pods may be placed on it. */
  public boolean takesPods() {
    return healthy && !cordoned;
  }

  public double freeRatio() {
    return (double) freeReplicas / replicas;
  }

  /** Returns the replicas that are not free. */
  public int grantedReplicas() {
    return replicas - freeReplicas;
  }

  public double grantedRatio() {
    return (double) grantedReplicas() / replicas;
  }

  /** 0 to 1. */
  public double memoryHeadroom() {
    return memoryUsableBytes <= 0
        ? 0
        : Math.clamp((double) memoryFreeBytes / memoryUsableBytes, 0, 1);
  }

  /** 0 to 1. */
  public double smHeadroom() {
    return 1 - Math.clamp(smLoad, 0, 1);
  }
}
