package dev.tranche.extender.readapi.row;

import dev.tranche.extender.history.GpuHistory.Found;
import dev.tranche.extender.history.GpuHistory.Gpu;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.List;
import java.util.function.Function;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The history of GPUs, as columns. */
public final class HistoryJson {
  private static final double THOUSANDTHS = 1_000;

  private HistoryJson() {}

  /**
   * @param nowMs now, on the history's monotonic clock
   * @param mean whether to add the mean of all GPUs
   */
  public static JsonObject of(String node, Found found, boolean mean, Instant now, long nowMs) {
    var times = new JsonArray();
    for (long timeMs : found.timesMs()) {
      // Rounded to the second, as the two clocks are not read at the same moment.
      long wallMs = now.toEpochMilli() - nowMs + timeMs;
      times.add(Instant.ofEpochSecond(Math.round(wallMs / 1_000.0)).toString());
    }
    var gpus = new JsonArray();
    found.gpus().forEach(gpu -> gpus.add(gpu(gpu)));
    var json =
        new JsonObject()
            .put("time", now.toString())
            .put("node", node)
            .put("stepSeconds", found.stepMs() / 1_000)
            .put("times", times)
            .put("gpus", gpus);
    return mean ? json.put("mean", mean(found)) : json;
  }

  private static JsonObject gpu(Gpu gpu) {
    return new JsonObject()
        .put("uuid", gpu.uuid())
        .put("index", gpu.index())
        .put("sm", shares(gpu.smMean()))
        .put("smMax", shares(gpu.smMax()))
        .put("memory", bytes(gpu.memoryUsedBytes()))
        .put("granted", shares(gpu.granted()));
  }

  /**
   * Returns the mean of the GPUs that are known at each time. The highest load is that of any GPU.
   */
  private static JsonObject mean(Found found) {
    int points = found.timesMs().size();
    return new JsonObject()
        .put("sm", shares(means(found.gpus(), points, Gpu::smMean)))
        .put(
            "smMax",
            shares(
                each(points, at -> known(found.gpus(), Gpu::smMax, at).max().orElse(Double.NaN))))
        .put(
            "memory",
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
                    .toList()))
        .put("granted", shares(means(found.gpus(), points, Gpu::granted)));
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

  private static JsonArray shares(List<Double> values) {
    return array(
        values,
        value -> Double.isNaN(value) ? null : Math.round(value * THOUSANDTHS) / THOUSANDTHS);
  }

  private static JsonArray bytes(List<Long> values) {
    return array(values, value -> value < 0 ? null : value);
  }

  private static <T> JsonArray array(List<T> values, Function<T, @Nullable Object> shown) {
    var array = new JsonArray();
    values.forEach(
        value -> {
          Object number = shown.apply(value);
          if (number == null) {
            array.addNull();
          } else {
            array.add(number);
          }
        });
    return array;
  }
}
