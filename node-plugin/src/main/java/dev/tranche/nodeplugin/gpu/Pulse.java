package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.metrics.Readiness;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether the GPUs are still sampled: a call into NVML may hang for ever, which only another
 * process cures. Any thread's.
 */
public final class Pulse {
  private static final long SILENCE_MIN_MS = 60_000;
  private static final int INTERVALS = 10;

  private final long silenceMaxMs;
  private final LongSupplier clockMs;
  // Null until NVML has started: without a driver there is nothing to sample.
  private volatile @Nullable Long lastMs;

  /**
   * @param intervalMs between samples
   * @param clockMs any clock that only goes forward
   */
  public Pulse(int intervalMs, LongSupplier clockMs) {
    this.silenceMaxMs = Math.max(SILENCE_MIN_MS, (long) INTERVALS * intervalMs);
    this.clockMs = clockMs;
  }

  /** NVML has started, or has been sampled or found to be gone. */
  public void beat() {
    lastMs = clockMs.getAsLong();
  }

  /** Not ready: the process had better be started anew. */
  public Readiness alive() {
    Long last = lastMs;
    long silentMs = last == null ? 0 : clockMs.getAsLong() - last;
    return silentMs <= silenceMaxMs
        ? Readiness.unless(List.of())
        : Readiness.unless(
            List.of(
                "the GPUs have not been read for %d s, %d s at most: a call into NVML hangs"
                    .formatted(silentMs / 1_000, silenceMaxMs / 1_000)));
  }
}
