package dev.tranche.extender.readapi.row;

import dev.tranche.extender.history.GpuHistory;
import dev.tranche.extender.history.GpuHistory.Found;
import dev.tranche.extender.history.GpuHistory.Gpu;
import java.time.Instant;
import java.util.List;

/** The history of GPUs, as columns. */
public record History(
    Instant time, String node, long stepSeconds, List<Instant> times, List<Gpu> gpus) {
  /**
   * @param nowMs now, on the history's monotonic clock
   */
  public static History of(String node, Found found, Instant now, long nowMs) {
    return new History(
        now,
        node,
        GpuHistory.STEP_MS / 1_000,
        found.timesMs().stream().map(timeMs -> wallTime(timeMs, now, nowMs)).toList(),
        found.gpus());
  }

  /** Rounds to the second, as the two clocks are not read at the same moment. */
  private static Instant wallTime(long timeMs, Instant now, long nowMs) {
    return Instant.ofEpochSecond(Math.round((now.toEpochMilli() - nowMs + timeMs) / 1_000.0));
  }
}
