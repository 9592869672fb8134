package dev.tranche.extender.history;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Load, memory and grants of all GPUs over the last hours, in bounded memory: a ring for each GPU,
 * with a slot for each minute. If there is no room for a GPU, those that are gone are forgotten,
 * and then it is left out. Times are of a monotonic clock, which no correction moves. Thread-safe.
 */
public final class GpuHistory {
  public static final long WINDOW_MS = 21_600_000;

  /** The time of one slot, which several samples are merged into. */
  public static final long STEP_MS = 60_000;

  /** GPUs of a node in an answer: those with the newest samples. */
  static final int ANSWER_GPUS_MAX = 64;

  /** The minutes of the window. */
  private static final int SLOTS = 360;

  /** Bytes of a GPU besides its ring: the map's entry, its key with its strings, and objects. */
  private static final int GPU_BYTES = 256;

  private static final int BYTES = GPU_BYTES + SLOTS * Ring.SHORTS * Short.BYTES;

  private final int gpusMax;
  private final TreeMap<Key, Ring> rings = new TreeMap<>(Key.ORDER);
  private long newestSlot = Long.MIN_VALUE;
  private volatile int leftOut;

  private record Key(String node, String uuid) {
    static final Comparator<Key> ORDER = Comparator.comparing(Key::node).thenComparing(Key::uuid);
  }

  /**
   * A GPU at one moment.
   *
   * @param sm mean SM load from 0 to 1; NaN without a fresh reading
   * @param memoryUsedBytes memory in use; -1 without a fresh reading
   * @param granted share that pods hold, from 0 to 1
   */
  public record Sample(
      String node, String uuid, int index, double sm, long memoryUsedBytes, double granted) {
    private Key key() {
      return new Key(node, uuid);
    }
  }

  /**
   * What was recorded.
   *
   * @param timesMs middle of each slot, ascending
   * @param gpus GPUs with a sample in that time, ordered by index
   */
  public record Found(List<Long> timesMs, List<Gpu> gpus) {}

  /**
   * The columns of one GPU, with one value for each time; null where it is unknown.
   *
   * @param sm mean SM load, from 0 to 1
   * @param smMax highest sample of it
   * @param memory highest sample of the memory in use, in bytes
   * @param granted mean share that pods hold, from 0 to 1
   */
  public record Gpu(
      String uuid,
      int index,
      List<@Nullable Double> sm,
      List<@Nullable Double> smMax,
      List<@Nullable Long> memory,
      List<@Nullable Double> granted) {}

  /**
   * @param bytesMax maximum size of all rings and what belongs to them
   */
  public GpuHistory(long bytesMax) {
    this.gpusMax = (int) (bytesMax / BYTES);
  }

  /** Size of all rings and what belongs to them. */
  public synchronized long bytes() {
    return (long) rings.size() * BYTES;
  }

  /** Returns the number of GPUs of the last samples that did not fit into memory. */
  public int leftOut() {
    return leftOut;
  }

  /**
   * Takes one sample of each GPU.
   *
   * @param nowMs now, on a monotonic clock
   */
  public synchronized void add(Collection<Sample> samples, long nowMs) {
    long slot = Math.floorDiv(nowMs, STEP_MS);
    rings.values().removeIf(ring -> ring.last <= slot - SLOTS);
    Set<Key> sampled = samples.stream().map(Sample::key).collect(Collectors.toSet());
    if (sampled.stream().filter(key -> !rings.containsKey(key)).count() + rings.size() > gpusMax) {
      rings.keySet().retainAll(sampled);
    }
    int without = 0;
    for (Sample sample : samples) {
      if (rings.containsKey(sample.key()) || rings.size() < gpusMax) {
        rings
            .computeIfAbsent(sample.key(), key -> new Ring(sample.index(), slot))
            .put(slot, sample);
      } else {
        without++;
      }
    }
    newestSlot = Math.max(newestSlot, slot);
    leftOut = without;
  }

  /**
   * Returns what is known of some GPUs of a node. Empty if there is none.
   *
   * @param uuids which GPUs
   * @param nowMs now, on a monotonic clock
   */
  public synchronized Optional<Found> find(String node, Predicate<String> uuids, long nowMs) {
    List<Map.Entry<Key, Ring>> found =
        rings.tailMap(new Key(node, "")).entrySet().stream()
            .takeWhile(entry -> entry.getKey().node().equals(node))
            .filter(entry -> uuids.test(entry.getKey().uuid()))
            .sorted(Comparator.comparingLong(entry -> -entry.getValue().last))
            .limit(ANSWER_GPUS_MAX)
            .sorted(Comparator.comparingInt(entry -> entry.getValue().index))
            .toList();
    if (found.isEmpty()) {
      return Optional.empty();
    }
    // The slot of now may not have its sample yet.
    long to = Math.max(newestSlot, Math.floorDiv(nowMs, STEP_MS) - 1);
    long from = to - SLOTS + 1;
    var within = found.stream().filter(entry -> entry.getValue().last >= from).toList();
    long first =
        LongStream.rangeClosed(from, to)
            .filter(
                slot -> within.stream().anyMatch(entry -> entry.getValue().granted(slot) != null))
            .findFirst()
            .orElse(to + 1);
    return Optional.of(
        new Found(
            LongStream.rangeClosed(first, to)
                .mapToObj(slot -> slot * STEP_MS + STEP_MS / 2)
                .toList(),
            within.stream()
                .map(entry -> entry.getValue().columns(entry.getKey().uuid(), first, to))
                .toList()));
  }

  /**
   * The samples of one GPU. Slots are numbered from the clock's zero, so that all rings agree on
   * them. A stored zero is a gap.
   */
  private static final class Ring {
    /** One for mean and highest SM load, one for memory, one for the granted share. */
    static final int SHORTS = 3;

    /** SM load is stored to half a percent. */
    private static final int SM_PARTS = 200;

    /** Unit of stored memory; in 16 bits it reaches 1 TiB. */
    private static final long MEMORY_UNIT_BYTES = 16L << 20;

    private static final int GRANTED_PARTS = 1_000;

    private final int index;

    /** One array, since the headers of four would take as much as an hour. */
    private final short[] ring = new short[SLOTS * SHORTS];

    /** The slot that was put last, and the sums of its samples. */
    private long last;

    private int readings;
    private double smSum;
    private int samples;
    private double grantedSum;

    Ring(int index, long first) {
      this.index = index;
      this.last = first - 1;
    }

    void put(long slot, Sample sample) {
      if (slot < last) {
        return;
      }
      if (slot > last) {
        // The ring still has older samples in the slots that were skipped.
        for (long old = Math.max(last + 1, slot - SLOTS + 1); old <= slot; old++) {
          Arrays.fill(ring, at(old), at(old) + SHORTS, (short) 0);
        }
        last = slot;
        readings = 0;
        smSum = 0;
        samples = 0;
        grantedSum = 0;
      }
      int at = at(slot);
      if (!Double.isNaN(sample.sm())) {
        readings++;
        smSum += sample.sm();
        int highest = Math.max(ring[at] >> 8 & 0xff, stored(sample.sm(), SM_PARTS));
        ring[at] = (short) (stored(smSum / readings, SM_PARTS) | highest << 8);
      }
      if (sample.memoryUsedBytes() >= 0) {
        long units = (sample.memoryUsedBytes() + MEMORY_UNIT_BYTES / 2) / MEMORY_UNIT_BYTES;
        ring[at + 1] = (short) Math.max(ring[at + 1] & 0xffff, 1 + Math.min(0xfffe, units));
      }
      samples++;
      grantedSum += sample.granted();
      ring[at + 2] = (short) stored(grantedSum / samples, GRANTED_PARTS);
    }

    private static int at(long slot) {
      return Math.floorMod(slot, SLOTS) * SHORTS;
    }

    private static int stored(double share, int parts) {
      return 1 + (int) Math.round(Math.clamp(share, 0, 1) * parts);
    }

    private static @Nullable Double share(int stored, int parts) {
      return stored == 0 ? null : (double) (stored - 1) / parts;
    }

    /** Even a sample without a reading has a granted share. */
    private @Nullable Double granted(long slot) {
      return isKept(slot) ? share(ring[at(slot) + 2], GRANTED_PARTS) : null;
    }

    private boolean isKept(long slot) {
      return slot <= last && slot > last - SLOTS;
    }

    Gpu columns(String uuid, long from, long to) {
      var sm = new ArrayList<@Nullable Double>();
      var smMax = new ArrayList<@Nullable Double>();
      var memory = new ArrayList<@Nullable Long>();
      var granted = new ArrayList<@Nullable Double>();
      for (long slot = from; slot <= to; slot++) {
        int at = at(slot);
        int load = isKept(slot) ? ring[at] & 0xffff : 0;
        int units = isKept(slot) ? ring[at + 1] & 0xffff : 0;
        sm.add(share(load & 0xff, SM_PARTS));
        smMax.add(share(load >> 8, SM_PARTS));
        memory.add(units == 0 ? null : (units - 1) * MEMORY_UNIT_BYTES);
        granted.add(granted(slot));
      }
      return new Gpu(uuid, index, sm, smMax, memory, granted);
    }
  }
}
