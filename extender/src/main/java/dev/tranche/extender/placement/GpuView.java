package dev.tranche.extender.placement;

/**
 * One GPU at one moment, as a pod that looks for room sees it.
 *
 * @param replicas R
 * @param freeReplicas not held, nor perhaps held by pods whose GPU is unknown
 * @param freeClients MPS client slots; {@link #UNLIMITED} without a limit
 * @param memoryUsableBytes total less the driver's reserve
 * @param memoryFreeBytes usable less the GPU's effective use: of each pod the larger of what it is
 *     granted and what is measured of it, plus what is measured of nobody known
 * @param smLoad effective: measured mean plus granted shares too young to be measured; 0 to 1, or
 *     above when more is expected than the GPU has
 * @param measured false: no reading, or one past its age; {@code smLoad} then says nothing
 * @param guarded replicas that the real free memory cannot back are refused
 * @param unfitBecause the node's words for why it is unhealthy or cordoned; else empty
 * @param outlook what the load may turn out to be; says nothing where it is not measured
 * @param memoryNobodysBytes in use by nobody known
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
    LoadForecast outlook,
    long memoryNobodysBytes) {
  public static final int UNLIMITED = Integer.MAX_VALUE;

  /**
   * Part of the usable memory that may be missing before replicas are refused. A pod that takes its
   * share and a CUDA context besides must not block the rest of the GPU.
   */
  private static final double MEMORY_SLACK_RATIO = 0.005;

  /**
   * Likewise where nobody known has it: an idle driver or a display server keeps some, and must not
   * make a whole GPU unplaceable.
   */
  private static final double NOBODYS_SLACK_RATIO = 0.015;

  /** Memory that so many replicas are granted. */
  public long grantedBytes(int share) {
    return memoryUsableBytes / replicas * share;
  }

  /** Replicas that the real free memory can back; all of them without a guard. */
  public int replicasByMemory() {
    if (memoryUsableBytes <= 0 || !guarded) {
      return replicas;
    }
    double nobodys = Math.min((double) memoryNobodysBytes, memoryUsableBytes * NOBODYS_SLACK_RATIO);
    double slack = memoryUsableBytes * MEMORY_SLACK_RATIO + nobodys;
    double backed = (memoryFreeBytes + slack) * replicas / memoryUsableBytes;
    return (int) Math.max(0, Math.min(replicas, Math.floor(backed)));
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
