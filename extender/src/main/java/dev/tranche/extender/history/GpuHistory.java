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
import org.jspecify.annotations.Nullable;

/**
 * Load, memory and grants of all GPUs over the last hours, in a bounded piece of memory.
 *
 * <p>Each GPU has a ring of the same length. Where the rings of all GPUs would take more than the
 * budget, GPUs that are gone are forgotten; then the step between samples doubles and the rings
 * halve, so that they go as far back as before. A GPU that still has no room is left out. Time is a
 * monotonic clock's, which no correction moves. From any thread.
 */
public final class GpuHistory {
  public static final long WINDOW_MS = 21_600_000;
  static final long STEP_MS = 10_000;

  /** Of one GPU in an answer; a screen shows no more. */
  static final int POINTS_MAX = 720;

  /** Of all GPUs in an answer. */
  static final int ANSWER_POINTS_MAX = 20_000;

  /** Of a node in an answer; those with the newest samples. */
  static final int ANSWER_GPUS_MAX = 256;

  /** With fewer a plot says nothing; then GPUs are left out. */
  private static final int SLOTS_MIN = 16;

  /** What a GPU takes beside its ring: the map's entry, its key with its strings, and objects. */
  private static final int GPU_BYTES = 208;

  private final long bytesMax;
  private final TreeMap<Key, GpuSeries> tracks = new TreeMap<>(Key.ORDER);
  private int slots = (int) (WINDOW_MS / STEP_MS);
  private long newest = Long.MIN_VALUE;
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
   * @param timesMs middle of each point's time, ascending
   * @param gpus with a sample in that time, by index
   */
  public record Found(long stepMs, List<Long> timesMs, List<Gpu> gpus) {}

  /**
   * One value for each time; what is unknown is NaN, or -1.
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
   * @param bytesMax of all rings and what belongs to them
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

  /** GPUs of the last samples that there is no room for. */
  public int leftOut() {
    return leftOut;
  }

  /**
   * Until the middle of the next step, so that a timer that is somewhat late misses no step.
   *
   * @param nowMs of a monotonic clock
   */
  public long nextInMs(long nowMs) {
    long step = stepMs;
    return (Math.floorDiv(nowMs, step) + 1) * step + step / 2 - nowMs;
  }

  /**
   * Takes one sample of each GPU.
   *
   * @param nowMs of a monotonic clock
   */
  public synchronized void add(Collection<GpuSample> samples, long nowMs) {
    long oldest = Math.floorDiv(nowMs, stepMs) - slots + 1;
    tracks.values().removeIf(track -> track.last() < oldest);
    makeRoom(samples);
    long slot = Math.floorDiv(nowMs, stepMs);
    int without = 0;
    for (GpuSample sample : samples) {
      Key key = Key.of(sample);
      GpuSeries track = tracks.get(key);
      if (track == null && size(tracks.size() + 1) <= bytesMax) {
        track = new GpuSeries(sample.index(), slots, slot);
        tracks.put(key, track);
      }
      if (track == null) {
        without++;
      } else {
        track.put(slot, sample);
      }
    }
    newest = Math.max(newest, slot);
    leftOut = without;
    bytes = size(tracks.size());
  }

  private long size(int gpus) {
    return (long) gpus * (GPU_BYTES + (long) GpuSeries.BYTES_PER_SLOT * slots);
  }

  private void makeRoom(Collection<GpuSample> samples) {
    Set<Key> there = new HashSet<>();
    samples.forEach(sample -> there.add(Key.of(sample)));
    long coming = there.stream().filter(key -> !tracks.containsKey(key)).count();
    if (size((int) (tracks.size() + coming)) > bytesMax) {
      tracks.keySet().retainAll(there);
    }
    while (size((int) (tracks.size() + coming)) > bytesMax && slots / 2 >= SLOTS_MIN) {
      tracks.replaceAll((key, track) -> track.halved());
      slots = Math.ceilDiv(slots, 2);
      long longer = stepMs * 2;
      stepMs = longer;
      newest = Math.floorDiv(newest, 2);
    }
  }

  /**
   * What is known of one GPU, or of all of a node. Empty where there is none.
   *
   * @param uuid null: of all
   * @param agoMs how far back
   * @param nowMs of a monotonic clock
   */
  public synchronized Optional<Found> find(
      String node, @Nullable String uuid, long agoMs, long nowMs) {
    List<Map.Entry<Key, GpuSeries>> found =
        tracks.tailMap(new Key(node, "")).entrySet().stream()
            .takeWhile(entry -> entry.getKey().node().equals(node))
            .filter(entry -> uuid == null || entry.getKey().uuid().equals(uuid))
            .sorted(Comparator.comparingLong(entry -> -entry.getValue().last()))
            .limit(ANSWER_GPUS_MAX)
            .sorted(Comparator.comparingInt(entry -> entry.getValue().index))
            .toList();
    if (found.isEmpty()) {
      return Optional.empty();
    }
    // The step of now may not have its sample yet.
    long to = Math.max(newest, Math.floorDiv(nowMs, stepMs) - 1);
    long from = Math.max(to - slots + 1, Math.floorDiv(nowMs - agoMs, stepMs));
    var within = found.stream().filter(e -> e.getValue().firstKnown(from, to) <= to).toList();
    long first =
        within.stream().mapToLong(e -> e.getValue().firstKnown(from, to)).min().orElse(to + 1);
    return Optional.of(shown(within, first, to));
  }

  /** Neighbouring slots are joined where there are too many. */
  private Found shown(List<Map.Entry<Key, GpuSeries>> found, long from, long to) {
    int joined = 1;
    int pointsMax =
        Math.min(POINTS_MAX, Math.max(1, ANSWER_POINTS_MAX / Math.max(1, found.size())));
    while (points(from, to, joined) > pointsMax) {
      joined *= 2;
    }
    int points = points(from, to, joined);
    long first = Math.floorDiv(from, joined);
    var times = new ArrayList<Long>(points);
    for (int i = 0; i < points; i++) {
      times.add((first + i) * joined * stepMs + joined * stepMs / 2);
    }
    var gpus = new ArrayList<Gpu>(found.size());
    for (var entry : found) {
      gpus.add(gpu(entry.getKey(), entry.getValue(), first, joined, points));
    }
    return new Found(joined * stepMs, times, gpus);
  }

  /** A point begins at a multiple of its length, so that it is the same in each answer. */
  private static int points(long from, long to, int joined) {
    return from > to ? 0 : (int) (Math.floorDiv(to, joined) - Math.floorDiv(from, joined) + 1);
  }

  private static Gpu gpu(Key key, GpuSeries track, long first, int joined, int points) {
    var gpu =
        new Gpu(
            key.uuid(),
            track.index,
            new ArrayList<>(points),
            new ArrayList<>(points),
            new ArrayList<>(points),
            new ArrayList<>(points));
    for (int i = 0; i < points; i++) {
      GpuSeries.Point point = track.point((first + i) * joined, joined);
      gpu.smMean().add(point.sm());
      gpu.smMax().add(point.smMax());
      gpu.memoryUsedBytes().add(point.memoryUsedBytes());
      gpu.granted().add(point.granted());
    }
    return gpu;
  }
}
