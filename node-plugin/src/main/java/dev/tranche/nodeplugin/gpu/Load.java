package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.nvml.GpuReading;
import org.jspecify.annotations.Nullable;

/**
 * The last reading of a GPU, with the weighted mean of its SM utilization.
 *
 * @param sampledAtMs of a monotonic clock
 * @param smMeanPercent exponentially weighted, half of it from the last {@value #HALF_LIFE_MS} ms
 */
public record Load(long sampledAtMs, GpuReading now, double smMeanPercent) {
  static final long HALF_LIFE_MS = 10_000;
  private static final double CHANGE_SM_PERCENT = 5;
  private static final double CHANGE_MEMORY_RATIO = 0.02;

  /** Returns the load after this reading; the first mean is the first reading. */
  public static Load next(@Nullable Load before, GpuReading reading, long nowMs) {
    if (before == null) {
      return new Load(nowMs, reading, reading.smPercent());
    }
    long passedMs = Math.max(0, nowMs - before.sampledAtMs);
    double kept = Math.pow(0.5, passedMs / (double) HALF_LIFE_MS);
    return new Load(nowMs, reading, before.smMeanPercent * kept + reading.smPercent() * (1 - kept));
  }

  /** Returns whether the change is large enough to report before the next heartbeat. */
  public boolean differsFrom(Load other, long memoryTotalBytes) {
    return Math.abs(now.smPercent() - other.now.smPercent()) >= CHANGE_SM_PERCENT
        || Math.abs(smMeanPercent - other.smMeanPercent) >= CHANGE_SM_PERCENT
        || (memoryTotalBytes > 0
            && Math.abs(now.memoryUsedBytes() - other.now.memoryUsedBytes())
                >= CHANGE_MEMORY_RATIO * memoryTotalBytes);
  }
}
