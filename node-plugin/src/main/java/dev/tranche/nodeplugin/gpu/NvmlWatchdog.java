package dev.tranche.nodeplugin.gpu;

import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Detects that the GPUs are no longer sampled: a call to NVML may hang forever, and only a new
 * process helps. Thread-safe.
 */
final class NvmlWatchdog {
  private static final long SILENCE_MIN_MS = 60_000;
  // Without persistence mode, NVML initializes each GPU, which takes seconds for a big one.
  private static final long START_MIN_MS = 300_000;
  private static final int INTERVALS = 10;
  // The driver may be replaced meanwhile; a longer outage may be caused by this container.
  private static final long UNUSABLE_MAX_MS = 300_000;
  // The session that was closed had working GPUs, so the cause is likely this container.
  private static final long RESTART_MAX_MS = 30_000;

  private final long silenceMaxMs;
  private final LongSupplier clockMs;
  // Null before the first call, and while there is no driver to call.
  private volatile @Nullable Awaited awaited;
  // Null while NVML works, and before it has worked.
  private volatile @Nullable Awaited outage;
  private volatile boolean restarting;

  /** Since when NVML must answer or work again, and how long that may take. */
  private record Awaited(long sinceMs, long maxMs) {}

  /**
   * @param intervalMs between samples
   * @param clockMs any monotonic clock
   */
  NvmlWatchdog(int intervalMs, LongSupplier clockMs) {
    this.silenceMaxMs = Math.max(SILENCE_MIN_MS, (long) INTERVALS * intervalMs);
    this.clockMs = clockMs;
  }

  /** NVML is about to be started, which may take longer than a sample. */
  void start() {
    awaited = new Awaited(clockMs.getAsLong(), Math.max(START_MIN_MS, silenceMaxMs));
  }

  /** NVML works and is restarted all the same. */
  void restarting() {
    restarting = true;
  }

  /** NVML has worked before and does not work now; it is retried. */
  void gone() {
    if (outage == null) {
      outage = new Awaited(clockMs.getAsLong(), restarting ? RESTART_MAX_MS : UNUSABLE_MAX_MS);
    }
    disarm();
  }

  /** NVML has started, or has been sampled. */
  void answered() {
    restarting = false;
    outage = null;
    awaited = new Awaited(clockMs.getAsLong(), silenceMaxMs);
  }

  /** NVML has failed to start: nothing can hang until the next attempt. */
  void disarm() {
    awaited = null;
  }

  /** Returns why the process should be restarted; empty while it need not. */
  Optional<String> failure() {
    return late(
            outage,
            "NVML has worked before and cannot be used for %d s, %d s at most: a new container may"
                + " have the devices and the driver's library that this one lacks")
        .or(
            () ->
                late(
                    awaited,
                    "the GPUs have not been read for %d s, %d s at most: a call into NVML hangs;"
                        + " check dmesg, and nvidia-smi on the host"));
  }

  private Optional<String> late(@Nullable Awaited what, String sentence) {
    if (what == null) {
      return Optional.empty();
    }
    long silentMs = clockMs.getAsLong() - what.sinceMs();
    return silentMs > what.maxMs()
        ? Optional.of(sentence.formatted(silentMs / 1_000, what.maxMs() / 1_000))
        : Optional.empty();
  }
}
