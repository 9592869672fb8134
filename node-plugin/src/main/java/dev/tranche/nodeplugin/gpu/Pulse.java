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
  // Null before the first call and while no driver is there to be asked.
  private volatile @Nullable Long lastMs;

  /**
   * @param intervalMs between samples
   * @param clockMs any clock that only goes forward
   */
  public Pulse(int intervalMs, LongSupplier clockMs) {
    this.silenceMaxMs = Math.max(SILENCE_MIN_MS, (long) INTERVALS * intervalMs);
    this.clockMs = clockMs;
  }

  /** NVML is about to be started, has started, or has been sampled or found to be gone. */
  public void beat() {
    lastMs = clockMs.getAsLong();
  }

  /** NVML has said that it does not start: until it is tried again nothing can hang. */
  public void rest() {
    lastMs = null;
  }

  /** Time since NVML last answered, or was first asked; 0 while nobody waits for it. */
  public long silentMs() {
    Long last = lastMs;
    return last == null ? 0 : clockMs.getAsLong() - last;
  }

  /** Not ready: the process had better be started anew. */
  public Readiness alive() {
    long silentMs = silentMs();
    return silentMs <= silenceMaxMs
        ? Readiness.unless(List.of())
        : Readiness.unless(
            List.of(
                "the GPUs have not been read for %d s, %d s at most: a call into NVML hangs"
                    .formatted(silentMs / 1_000, silenceMaxMs / 1_000)));
  }
}
