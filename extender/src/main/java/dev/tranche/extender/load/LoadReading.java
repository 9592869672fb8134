package dev.tranche.extender.load;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One reading of a GPU.
 *
 * @param sm SM utilization of the last period alone, 0 to 1
 * @param smMean exponentially weighted mean of it, which pods are placed by
 * @param sampledAtMs on the extender's monotonic clock: receipt less the age that the sender states
 * @param memoryUsedBytesByPod by {@code namespace/name}, of the above; empty where the node cannot
 *     tell its processes apart
 * @param smByPod SM utilization likewise, 0 to 1: of the last period in a report, and the mean in
 *     {@link LoadCache}. What is nobody's is under {@link #OTHERS}. Empty where the node cannot
 *     tell its processes apart
 */
public record LoadReading(
    long memoryUsedBytes,
    double sm,
    double smMean,
    int processes,
    long sampledAtMs,
    Map<String, Long> memoryUsedBytesByPod,
    Map<String, Double> smByPod) {
  /** Less is shown as 0 %. */
  private static final double NOTHING = 0.005;

  /** Who is no pod. */
  public static final String OTHERS = "";

  public LoadReading {
    memoryUsedBytesByPod = Map.copyOf(memoryUsedBytesByPod);
    smByPod = Map.copyOf(smByPod);
  }

  /**
   * SM utilization of one pod, 0 to 1; null where that is not known. A pod that is not named uses
   * nothing where nothing is left that could be its own.
   */
  public @Nullable Double smOf(String pod) {
    Double named = smByPod.get(pod);
    if (named != null) {
      return named;
    }
    double nobodys = smByPod.isEmpty() ? smMean : smByPod.getOrDefault(OTHERS, 0.0);
    return nobodys < NOTHING ? 0.0 : null;
  }

  /** Memory of one pod in bytes, likewise. */
  public @Nullable Long memoryBytesOf(String pod) {
    Long named = memoryUsedBytesByPod.get(pod);
    if (named != null) {
      return named;
    }
    long pods = memoryUsedBytesByPod.values().stream().mapToLong(Long::longValue).sum();
    return pods >= memoryUsedBytes ? 0L : null;
  }

  public long ageMs(long nowMs) {
    return Math.max(0, nowMs - sampledAtMs);
  }
}
