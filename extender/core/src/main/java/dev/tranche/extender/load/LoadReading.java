package dev.tranche.extender.load;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One reading of a GPU.
 *
 * @param sm SM utilization of the last period alone, 0 to 1
 * @param smMean exponentially weighted mean of {@code sm}, by which pods are placed
 * @param sampledAtMs on the extender's monotonic clock: time of receipt less the age that the
 *     sender states
 * @param memoryUsedBytesByPod each pod's part of {@code memoryUsedBytes}, by {@code
 *     namespace/name}; empty if the node cannot tell its processes apart
 * @param smByPod each pod's SM utilization, 0 to 1: of the last period in a report, and the mean in
 *     {@link LoadCache}. Use by no pod is under {@link #OTHERS}. Empty if the node cannot tell its
 *     processes apart
 * @param activity null where the GPU or its driver does not tell
 * @param memoryKnown false where NVML does not tell {@code memoryUsedBytes}, which is 0 then
 */
public record LoadReading(
    long memoryUsedBytes,
    double sm,
    double smMean,
    int processes,
    long sampledAtMs,
    Map<String, Long> memoryUsedBytesByPod,
    Map<String, Double> smByPod,
    @Nullable GpuActivity activity,
    boolean memoryKnown) {
  /** Lower utilization is shown as 0 % and counts as none. */
  static final double NOTHING = 0.005;

  /** Of a GPU that was not read yet. */
  public static final LoadReading NONE =
      new LoadReading(0, 0, 0, 0, 0, Map.of(), Map.of(), null, false);

  /** The key of use that belongs to no pod. */
  public static final String OTHERS = "";

  public LoadReading {
    memoryUsedBytesByPod = Map.copyOf(memoryUsedBytesByPod);
    smByPod = Map.copyOf(smByPod);
  }

  /**
   * Returns the SM utilization of one pod, 0 to 1; null if it is not known. A pod that is not named
   * uses nothing if the named pods account for all use.
   */
  public @Nullable Double smOf(String pod) {
    Double named = smByPod.get(pod);
    if (named != null) {
      return named;
    }
    double unattributed = smByPod.isEmpty() ? smMean : smByPod.getOrDefault(OTHERS, 0.0);
    return unattributed < NOTHING ? 0.0 : null;
  }

  /** Returns the memory of one pod in bytes; null if it is not known. */
  public @Nullable Long memoryBytesOf(String pod) {
    Long named = memoryUsedBytesByPod.get(pod);
    if (named != null) {
      return named;
    }
    long pods = memoryUsedBytesByPod.values().stream().mapToLong(Long::longValue).sum();
    return memoryKnown && pods >= memoryUsedBytes ? 0L : null;
  }

  public long ageMs(long nowMs) {
    return Math.max(0, nowMs - sampledAtMs);
  }
}
