package dev.tranche.extender.load;

import java.util.Map;

/** Readings of GPUs whose load has been the same for long. */
public final class Readings {
  private Readings() {}

  public static LoadReading of(long memoryUsedBytes, double sm, int processes, long sampledAtMs) {
    return of(memoryUsedBytes, sm, processes, sampledAtMs, Map.of(), Map.of());
  }

  public static LoadReading of(
      long memoryUsedBytes,
      double sm,
      int processes,
      long sampledAtMs,
      Map<String, Long> memoryUsedBytesByPod,
      Map<String, Double> smByPod) {
    return new LoadReading(
        memoryUsedBytes, sm, sm, processes, sampledAtMs, memoryUsedBytesByPod, smByPod, null, true);
  }
}
