package dev.tranche.extender.load;

import java.util.Map;

/**
 * One reading of a GPU.
 *
 * @param smMean exponentially weighted mean of SM utilization, 0 to 1
 * @param sampledAtMs on the extender's monotonic clock: receipt less the age that the sender states
 * @param uses by {@code namespace/pod}, of pods whose processes were told apart; in sum no more
 *     than the GPU's own
 */
public record LoadReading(
    long memoryUsedBytes, double smMean, int processes, long sampledAtMs, Map<String, Use> uses) {
  public LoadReading {
    uses = Map.copyOf(uses);
  }

  /** One that tells no pods apart. */
  public LoadReading(long memoryUsedBytes, double smMean, int processes, long sampledAtMs) {
    this(memoryUsedBytes, smMean, processes, sampledAtMs, Map.of());
  }

  /**
   * What one pod uses of the GPU.
   *
   * @param sm of the whole GPU, 0 to 1, in the last sample
   */
  public record Use(long memoryUsedBytes, double sm) {
    public Use plus(Use other) {
      return new Use(memoryUsedBytes + other.memoryUsedBytes, sm + other.sm);
    }
  }

  public long ageMs(long nowMs) {
    return Math.max(0, nowMs - sampledAtMs);
  }
}
