package dev.tranche.extender.history;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * Load, memory and grants of all GPUs over the last hours, in bounded memory.
 *
 * <p>Each GPU has a ring of the same length. If the rings of all GPUs would exceed the budget, GPUs
 * that are gone are forgotten first. Then the step between samples doubles and the rings halve, so
 * that they cover the same time. A GPU that still does not fit is left out. Times are of a
 * monotonic clock, which no correction moves. Thread-safe.
 */
public final class GpuHistory {
  public static final long WINDOW_MS = 21_600_000;
  static final long STEP_MS = 10_000;

  /** Points of one GPU in an answer; a screen shows no more. */
  static final int POINTS_MAX = 720;

  /** Points of all GPUs in an answer. */
  static final int ANSWER_POINTS_MAX = 20_000;

  /** GPUs of a node in an answer: those with the newest samples. */
  static final int ANSWER_GPUS_MAX = 256;

  /** With fewer slots a plot says nothing, so GPUs are left out instead. */
  private static final int SLOTS_MIN = 16;

  /** Bytes of a GPU besides its ring: the map's entry, its key with its strings, and objects. */
  private static final int GPU_BYTES = 208;

  private final long bytesMax;
  private final TreeMap<Key, GpuSeries> seriesByGpu = new TreeMap<>(Key.ORDER);
  private int slots = (int) (WINDOW_MS / STEP_MS);
  private long newestSlot = Long.MIN_VALUE;
  private volatile long stepMs = STEP_MS;
  private volatile long bytes;
  private volatile int leftOut;

  private record Key(String node, String uuid) {
    static final Comparator<Key> ORDER = Comparator.comparing(Key::node).thenComparing(Key::uuid);

    static Key of(GpuSample sample) {
      return new Key(sample.node(), sample.uuid());
    }
  }

  /**
   * What was recorded.
   *
   * @param timesMs middle of each point's interval, ascending
   * @param gpus GPUs with a sample in that time, ordered by index
   */
  public record Found(long stepMs, List<Long> timesMs, List<Gpu> gpus) {}

  /**
   * The columns of one GPU, with one value for each time. An unknown value is NaN, or -1 for
   * memory.
   *
   * @param smMean mean SM load, from 0 to 1
   * @param smMax highest sample of it
   * @param memoryUsedBytes highest sample
   * @param granted mean share that pods hold, from 0 to 1
   */
  public record Gpu(
      String uuid,
      int index,
      List<Double> smMean,
      List<Double> smMax,
      List<Long> memoryUsedBytes,
      List<Double> granted) {}

  /**
   * @param bytesMax maximum size of all rings and what belongs to them
   */
  public GpuHistory(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  /** Size of all rings and what belongs to them. */
  public long bytes() {
    return bytes;
  }

  /** Time between two samples. */
  public long stepMs() {
    return stepMs;
  }

  /** Returns the number of GPUs of the last samples that did not fit into memory. */
  public int leftOut() {
    return leftOut;
  }

  /**
   * Returns the time until the middle of the next step, so that a slightly late timer misses no
   * step.
   *
   * @param nowMs now, on a monotonic clock
   */
  public long nextInMs(long nowMs) {
    long step = stepMs;
    return (Math.floorDiv(nowMs, step) + 1) * step + step / 2 - nowMs;
  }

  /**
   * Takes one sample of each GPU.
   *
   * @param nowMs now, on a monotonic clock
   */
  public synchronized void add(Collection<GpuSample> samples, long nowMs) {
    long oldest = Math.floorDiv(nowMs, stepMs) - slots + 1;
    seriesByGpu.values().removeIf(series -> series.last() < oldest);
    makeRoom(samples);
    long slot = Math.floorDiv(nowMs, stepMs);
    int without = 0;
    for (GpuSample sample : samples) {
      Key key = Key.of(sample);
      GpuSeries series = seriesByGpu.get(key);
      if (series == null && size(seriesByGpu.size() + 1) <= bytesMax) {
        series = new GpuSeries(sample.index(), slots, slot);
        seriesByGpu.put(key, series);
      }
      if (series == null) {
        without++;
      } else {
        series.put(slot, sample);
      }
    }
    newestSlot = Math.max(newestSlot, slot);
    leftOut = without;
    bytes = size(seriesByGpu.size());
  }

  private long size(int gpus) {
    return (long) gpus * (GPU_BYTES + (long) GpuSeries.BYTES_PER_SLOT * slots);
  }

  private void makeRoom(Collection<GpuSample> samples) {
    Set<Key> sampled = new HashSet<>();
    samples.forEach(sample -> sampled.add(Key.of(sample)));
    long added = sampled.stream().filter(key -> !seriesByGpu.containsKey(key)).count();
    if (size((int) (seriesByGpu.size() + added)) > bytesMax) {
      seriesByGpu.keySet().retainAll(sampled);
    }
    while (size((int) (seriesByGpu.size() + added)) > bytesMax && slots / 2 >= SLOTS_MIN) {
      seriesByGpu.replaceAll((key, series) -> series.halved());
      slots = Math.ceilDiv(slots, 2);
      long longer = stepMs * 2;
      stepMs = longer;
      newestSlot = Math.floorDiv(newestSlot, 2);
    }
  }

  /**
   * Returns what is known of some GPUs of a node. Empty if there is none.
   *
   * @param uuids which GPUs
   * @param agoMs how far back
   * @param nowMs now, on a monotonic clock
   */
  public synchronized Optional<Found> find(
      String node, Predicate<String> uuids, long agoMs, long nowMs) {
    List<Map.Entry<Key, GpuSeries>> found =
        seriesByGpu.tailMap(new Key(node, "")).entrySet().stream()
            .takeWhile(entry -> entry.getKey().node().equals(node))
            .filter(entry -> uuids.test(entry.getKey().uuid()))
            .sorted(Comparator.comparingLong(entry -> -entry.getValue().last()))
            .limit(ANSWER_GPUS_MAX)
            .sorted(Comparator.comparingInt(entry -> entry.getValue().index))
            .toList();
    if (found.isEmpty()) {
      return Optional.empty();
    }
    // The current step may not have its sample yet.
    long to = Math.max(newestSlot, Math.floorDiv(nowMs, stepMs) - 1);
    long from = Math.max(to - slots + 1, Math.floorDiv(nowMs - agoMs, stepMs));
    var within = found.stream().filter(e -> e.getValue().firstKnown(from, to) <= to).toList();
    long first =
        within.stream().mapToLong(e -> e.getValue().firstKnown(from, to)).min().orElse(to + 1);
    return Optional.of(downsampled(within, first, to));
  }

  /** Joins neighbouring slots if there are too many. */
  private Found downsampled(List<Map.Entry<Key, GpuSeries>> found, long from, long to) {
    int slotsPerPoint = 1;
    int pointsMax =
        Math.min(POINTS_MAX, Math.max(1, ANSWER_POINTS_MAX / Math.max(1, found.size())));
    while (points(from, to, slotsPerPoint) > pointsMax) {
      slotsPerPoint *= 2;
    }
    int points = points(from, to, slotsPerPoint);
    long first = Math.floorDiv(from, slotsPerPoint);
    var times = new ArrayList<Long>(points);
    for (int i = 0; i < points; i++) {
      times.add((first + i) * slotsPerPoint * stepMs + slotsPerPoint * stepMs / 2);
    }
    var gpus = new ArrayList<Gpu>(found.size());
    for (var entry : found) {
      gpus.add(gpu(entry.getKey(), entry.getValue(), first, slotsPerPoint, points));
    }
    return new Found(slotsPerPoint * stepMs, times, gpus);
  }

  /**
   * Counts points. A point begins at a multiple of its length, so that it is the same in each
   * answer.
   */
  private static int points(long from, long to, int slotsPerPoint) {
    return from > to
        ? 0
        : (int) (Math.floorDiv(to, slotsPerPoint) - Math.floorDiv(from, slotsPerPoint) + 1);
  }

  private static Gpu gpu(Key key, GpuSeries series, long first, int slotsPerPoint, int points) {
    var gpu =
        new Gpu(
            key.uuid(),
            series.index,
            new ArrayList<>(points),
            new ArrayList<>(points),
            new ArrayList<>(points),
            new ArrayList<>(points));
    for (int i = 0; i < points; i++) {
      GpuSeries.Point point = series.point((first + i) * slotsPerPoint, slotsPerPoint);
      gpu.smMean().add(point.sm());
      gpu.smMax().add(point.smMax());
      gpu.memoryUsedBytes().add(point.memoryUsedBytes());
      gpu.granted().add(point.granted());
    }
    return gpu;
  }
}
