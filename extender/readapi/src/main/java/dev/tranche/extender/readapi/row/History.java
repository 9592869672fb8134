package dev.tranche.extender.readapi.row;

import dev.tranche.extender.history.GpuHistory.Found;
import dev.tranche.extender.history.GpuHistory.Gpu;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The history of GPUs, as columns. */
public record History(
    Instant time,
    String node,
    long stepSeconds,
    List<Instant> times,
    List<HistoryGpu> gpus,
    @Nullable HistoryMean mean) {
  private static final double THOUSANDTHS = 1_000;

  /** Columns, with one value for each time. */
  public record HistoryMean(
      List<@Nullable Double> sm,
      List<@Nullable Double> smMax,
      List<@Nullable Long> memory,
      List<@Nullable Double> granted) {
    /** Of the GPUs that are known at each time. The highest load is that of any GPU. */
    private static HistoryMean of(Found found) {
      int points = found.timesMs().size();
      return new HistoryMean(
          shares(means(found.gpus(), points, Gpu::smMean)),
          shares(each(points, at -> known(found.gpus(), Gpu::smMax, at).max().orElse(Double.NaN))),
          bytes(
              IntStream.range(0, points)
                  .mapToObj(
                      at ->
                          Math.round(
                              found.gpus().stream()
                                  .mapToLong(gpu -> gpu.memoryUsedBytes().get(at))
                                  .filter(bytes -> bytes >= 0)
                                  .average()
                                  .orElse(-1)))
                  .toList()),
          shares(means(found.gpus(), points, Gpu::granted)));
    }
  }

  /** One GPU's columns. */
  public record HistoryGpu(
      String uuid,
      int index,
      List<@Nullable Double> sm,
      List<@Nullable Double> smMax,
      List<@Nullable Long> memory,
      List<@Nullable Double> granted) {
    private static HistoryGpu of(Gpu gpu) {
      return new HistoryGpu(
          gpu.uuid(),
          gpu.index(),
          shares(gpu.smMean()),
          shares(gpu.smMax()),
          bytes(gpu.memoryUsedBytes()),
          shares(gpu.granted()));
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
        found.stepMs() / 1_000,
        found.timesMs().stream().map(timeMs -> wallTime(timeMs, now, nowMs)).toList(),
        found.gpus().stream().map(HistoryGpu::of).toList(),
        mean ? HistoryMean.of(found) : null);
  }

  /** Rounds to the second, as the two clocks are not read at the same moment. */
  private static Instant wallTime(long timeMs, Instant now, long nowMs) {
    return Instant.ofEpochSecond(Math.round((now.toEpochMilli() - nowMs + timeMs) / 1_000.0));
  }

  private static List<Double> means(
      List<Gpu> gpus, int points, Function<Gpu, List<Double>> column) {
    return each(points, at -> known(gpus, column, at).average().orElse(Double.NaN));
  }

  private static List<Double> each(int points, Function<Integer, Double> value) {
    return IntStream.range(0, points).boxed().map(value).toList();
  }

  private static DoubleStream known(List<Gpu> gpus, Function<Gpu, List<Double>> column, int at) {
    return gpus.stream()
        .mapToDouble(gpu -> column.apply(gpu).get(at))
        .filter(value -> !Double.isNaN(value));
  }

  private static List<@Nullable Double> shares(List<Double> values) {
    var shown = new ArrayList<@Nullable Double>();
    values.forEach(
        value ->
            shown.add(Double.isNaN(value) ? null : Math.round(value * THOUSANDTHS) / THOUSANDTHS));
    return shown;
  }

  private static List<@Nullable Long> bytes(List<Long> values) {
    var shown = new ArrayList<@Nullable Long>();
    values.forEach(value -> shown.add(value < 0 ? null : value));
    return shown;
  }
}
