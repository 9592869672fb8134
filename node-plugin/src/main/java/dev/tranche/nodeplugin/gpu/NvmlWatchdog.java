package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.health.Readiness;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether the GPUs are still sampled: a call into NVML may hang for ever, which only another
 * process cures. Any thread's.
 */
public final class NvmlWatchdog {
  private static final long SILENCE_MIN_MS = 60_000;
  // Without persistence mode NVML initialises each GPU, seconds for a big one.
  private static final long START_MIN_MS = 300_000;
  private static final int INTERVALS = 10;
  // A driver may be exchanged meanwhile; what takes longer may be this container's own fault.
  private static final long UNUSABLE_MAX_MS = 300_000;

  /** A person should hear of a silence before it ends the process. */
  private static final long TELL_AFTER_MS = 20_000;

  private final long silenceMaxMs;
  private final LongSupplier clockMs;
  // Null before the first call and while no driver is there to be asked.
  private volatile @Nullable Awaited awaited;
  // Null while NVML works, and before it has.
  private volatile @Nullable Long goneSinceMs;

  /** A sign of life, and how long the next may take. */
  private record Awaited(long sinceMs, long maxMs) {}

  /**
   * @param intervalMs between samples
   * @param clockMs any clock that only goes forward
   */
  public NvmlWatchdog(int intervalMs, LongSupplier clockMs) {
    this.silenceMaxMs = Math.max(SILENCE_MIN_MS, (long) INTERVALS * intervalMs);
    this.clockMs = clockMs;
  }

  /** NVML is about to be started, which may take longer than a sample. */
  public void start() {
    awaited = new Awaited(clockMs.getAsLong(), Math.max(START_MIN_MS, silenceMaxMs));
  }

  /** NVML has worked before, and now it does not; it is tried again and again. */
  public void gone() {
    if (goneSinceMs == null) {
      goneSinceMs = clockMs.getAsLong();
    }
    rest();
  }

  /** NVML has started, or has been sampled. */
  public void beat() {
    goneSinceMs = null;
    awaited = new Awaited(clockMs.getAsLong(), silenceMaxMs);
  }

  /** NVML has said that it does not start: until it is tried again nothing can hang. */
  public void rest() {
    awaited = null;
  }

  /** Time since NVML last answered, or was first asked; 0 while nobody waits for it. */
  public long silentMs() {
    Awaited now = awaited;
    return now == null ? 0 : silentMs(now);
  }

  private long silentMs(Awaited now) {
    return clockMs.getAsLong() - now.sinceMs();
  }

  /** Not ready: the process had better be started anew. */
  public Readiness alive() {
    Long since = goneSinceMs;
    if (since != null && clockMs.getAsLong() - since > UNUSABLE_MAX_MS) {
      return Readiness.unless(
          List.of(
              "NVML has worked before and cannot be used for %d s, %d s at most: a new container may"
                      .formatted((clockMs.getAsLong() - since) / 1_000, UNUSABLE_MAX_MS / 1_000)
                  + " have the devices and the driver's library that this one lacks"));
    }
    Awaited now = awaited;
    if (now == null || silentMs(now) <= now.maxMs()) {
      return Readiness.unless(List.of());
    }
    return Readiness.unless(
        List.of(
            "the GPUs have not been read for %d s, %d s at most: a call into NVML hangs"
                .formatted(silentMs(now) / 1_000, now.maxMs() / 1_000)));
  }

  /** What a person should hear of a call that takes long; empty: none does. */
  public Optional<String> slow() {
    return silentMs() < TELL_AFTER_MS
        ? Optional.empty()
        : Optional.of(
            "NVML has not answered for %d s; check dmesg, and nvidia-smi on the host"
                .formatted(silentMs() / 1_000));
  }
}
