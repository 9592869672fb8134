package dev.tranche.extender.readapi.row;

import dev.tranche.extender.history.GpuHistory;
import dev.tranche.extender.history.GpuHistory.Found;
import dev.tranche.extender.history.GpuHistory.Gpu;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.DoubleStream;
import org.jspecify.annotations.Nullable;

/** The history of GPUs, as columns. */
public record History(
    Instant time,
    String node,
    long stepSeconds,
    List<Instant> times,
    List<Gpu> gpus,
    @Nullable HistoryMean mean) {
  private static final double THOUSANDTHS = 1_000;

  /** Columns, with one value for each time. */
  public record HistoryMean(
      List<@Nullable Double> sm,
      List<@Nullable Double> smMax,
      List<@Nullable Long> memory,
      List<@Nullable Double> granted) {
    /** Of the GPUs that are known at each time. The highest load is that of any GPU. */
    private static HistoryMean of(List<Gpu> gpus, int points) {
      var mean =
          new HistoryMean(
              new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
      for (int at = 0; at < points; at++) {
        mean.sm.add(mean(known(gpus, Gpu::sm, at)));
        var highest = known(gpus, Gpu::smMax, at).max();
        mean.smMax.add(highest.isPresent() ? highest.getAsDouble() : null);
        var memory = known(gpus, Gpu::memory, at).average();
        mean.memory.add(memory.isPresent() ? Math.round(memory.getAsDouble()) : null);
        mean.granted.add(mean(known(gpus, Gpu::granted, at)));
      }
      return mean;
    }

    private static <N extends Number> DoubleStream known(
        List<Gpu> gpus, Function<Gpu, List<@Nullable N>> column, int at) {
      return gpus.stream()
          .map(gpu -> column.apply(gpu).get(at))
          .filter(Objects::nonNull)
          .mapToDouble(Number::doubleValue);
    }

    private static @Nullable Double mean(DoubleStream known) {
      var mean = known.average();
      return mean.isPresent() ? Math.round(mean.getAsDouble() * THOUSANDTHS) / THOUSANDTHS : null;
    }
  }

  /**
   * @param nowMs now, on the history's monotonic clock
   * @param mean whether to add the mean of all GPUs
   */
  public static History of(String node, Found found, boolean mean, Instant now, long nowMs) {
    return new History(
        now,
        node,
        GpuHistory.STEP_MS / 1_000,
        found.timesMs().stream().map(timeMs -> wallTime(timeMs, now, nowMs)).toList(),
        found.gpus(),
        mean ? HistoryMean.of(found.gpus(), found.timesMs().size()) : null);
  }

  /** Rounds to the second, as the two clocks are not read at the same moment. */
  private static Instant wallTime(long timeMs, Instant now, long nowMs) {
    return Instant.ofEpochSecond(Math.round((now.toEpochMilli() - nowMs + timeMs) / 1_000.0));
  }
}
