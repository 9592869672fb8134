package dev.tranche.extender.load;

/**
 * One reading of a GPU.
 *
 * @param smMean exponentially weighted mean of SM utilization, 0 to 1
 * @param sampledAtMs on the extender's monotonic clock: receipt less the age that the sender states
 */
public record LoadReading(long memoryUsedBytes, double smMean, int processes, long sampledAtMs) {
  public long ageMs(long nowMs) {
    return Math.max(0, nowMs - sampledAtMs);
  }
}
