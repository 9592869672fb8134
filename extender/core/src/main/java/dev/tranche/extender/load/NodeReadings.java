package dev.tranche.extender.load;

import dev.tranche.extender.load.LoadCache.LoadChange;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The latest readings of one node's GPUs, each overwritten in place. Thousands of nodes report
 * every few seconds. A record for each reading would live just long enough to be promoted and cost
 * a full collection.
 */
final class NodeReadings {
  /** The readings of a node that has not reported. */
  static final NodeReadings NONE = new NodeReadings();

  long version;

  /** Whether a pod was seen at work, so that the node can tell who uses its GPUs. */
  boolean namesPods;

  private final Map<String, Cell> byUuid = new HashMap<>();

  /** The last reading of one GPU. */
  private static final class Cell {
    long memoryUsedBytes;
    double sm;
    double smMean;
    int processes;
    long sampledAtMs;
    Map<String, Long> memoryUsedBytesByPod = Map.of();
    Map<String, Double> smByPod = Map.of();
    @Nullable GpuActivity activity;
    boolean memoryKnown;

    /** When a pod was first seen to use its GPU. */
    Map<String, Long> beganAtMs = Map.of();

    final LastWork lastWork = new LastWork();
  }

  /**
   * @param staleAfterMs the longest time between two readings that follow each other
   */
  LoadChange put(
      String uuid, LoadReading reading, double halfLifeMs, long newcomerMs, long staleAfterMs) {
    boolean known = byUuid.containsKey(uuid);
    Cell cell = byUuid.computeIfAbsent(uuid, fresh -> new Cell());
    long passedMs = Math.max(0, reading.sampledAtMs() - cell.sampledAtMs);
    double kept = Math.pow(0.5, passedMs / halfLifeMs);
    Map<String, Double> means =
        means(cell.smByPod, reading.smByPod(), cell.beganAtMs.keySet(), kept);
    LoadChange change = known ? change(cell, reading, means) : LoadChange.SOME;
    cell.smByPod = means;
    cell.beganAtMs = began(cell.beganAtMs, reading, newcomerMs);
    namesPods = namesPods || !cell.beganAtMs.isEmpty();
    cell.memoryUsedBytes = reading.memoryUsedBytes();
    cell.sm = reading.sm();
    cell.smMean = reading.smMean();
    cell.processes = reading.processes();
    cell.sampledAtMs = reading.sampledAtMs();
    cell.memoryUsedBytesByPod = reading.memoryUsedBytesByPod();
    cell.activity = reading.activity();
    cell.memoryKnown = reading.memoryKnown();
    cell.lastWork.add(reading, staleAfterMs);
    return change;
  }

  private static LoadChange change(Cell cell, LoadReading reading, Map<String, Double> means) {
    Map<String, Long> before = cell.memoryUsedBytesByPod;
    Map<String, Long> now = reading.memoryUsedBytesByPod();
    if (cell.memoryUsedBytes > reading.memoryUsedBytes()
        || unattributedBytes(cell.memoryUsedBytes, before)
            > unattributedBytes(reading.memoryUsedBytes(), now)
        || anyLess(before, now)) {
      return LoadChange.MEMORY_FREED;
    }
    boolean same =
        cell.memoryUsedBytes == reading.memoryUsedBytes()
            && before.equals(now)
            && cell.smMean == reading.smMean()
            && cell.processes == reading.processes()
            && Objects.equals(cell.activity, reading.activity())
            && cell.memoryKnown == reading.memoryKnown()
            && cell.smByPod.equals(means);
    return same ? LoadChange.NONE : LoadChange.SOME;
  }

  /** Returns the memory that belongs to no pod. Unlike a pod's memory, no grant covers it. */
  private static long unattributedBytes(long usedBytes, Map<String, Long> byPod) {
    long bytes = usedBytes;
    for (long used : byPod.values()) {
      bytes -= used;
    }
    return bytes;
  }

  /**
   * Returns whether any pod uses less. It may have had more than its grant, while another pod now
   * uses more within its own.
   */
  private static boolean anyLess(Map<String, Long> before, Map<String, Long> now) {
    for (var use : before.entrySet()) {
      if (now.getOrDefault(use.getKey(), 0L) < use.getValue()) {
        return true;
      }
    }
    return false;
  }

  int size() {
    return byUuid.size();
  }

  /** Returns the number of cached entries of pods: one for each pod, GPU and kind of data. */
  int pods() {
    int pods = 0;
    for (Cell cell : byUuid.values()) {
      pods += cell.memoryUsedBytesByPod.size() + cell.beganAtMs.size() + cell.lastWork.size();
    }
    return pods;
  }

  /**
   * Forgets pods that the last report does not name. Their memory then counts as that of an unknown
   * pod, and they begin anew.
   *
   * @param reported uuids of the GPUs in the last report
   */
  void forgetPodsOfBefore(Set<String> reported) {
    byUuid.forEach(
        (uuid, cell) -> {
          cell.lastWork.forget(cell.sampledAtMs);
          if (!reported.contains(uuid)) {
            cell.memoryUsedBytesByPod = Map.of();
            cell.smByPod = Map.of();
          }
          var began = new HashMap<>(cell.beganAtMs);
          began.keySet().retainAll(cell.smByPod.keySet());
          cell.beganAtMs = Map.copyOf(began);
        });
  }

  private static boolean works(String pod, double sm) {
    return sm > 0 && !pod.equals(LoadReading.OTHERS);
  }

  /** Updates the times at which pods began. A pod that pauses keeps its time. */
  private static Map<String, Long> began(
      Map<String, Long> before, LoadReading reading, long keptMs) {
    Map<String, Double> uses = reading.smByPod();
    if (before.isEmpty() && uses.isEmpty()) {
      return before;
    }
    long oldestMs = reading.sampledAtMs() - keptMs;
    var began = new HashMap<>(before);
    began.entrySet().removeIf(e -> e.getValue() < oldestMs && !uses.containsKey(e.getKey()));
    uses.forEach(
        (pod, sm) -> {
          if (works(pod, sm)) {
            began.putIfAbsent(pod, reading.sampledAtMs());
          }
        });
    return began.equals(before) ? before : Map.copyOf(began);
  }

  /** Returns since when the pod has not worked; the largest number if nobody knows. */
  long idleSinceMs(String uuid, String pod) {
    Cell cell = byUuid.get(uuid);
    return cell == null ? Long.MAX_VALUE : cell.lastWork.idleSinceMs(pod);
  }

  /** Returns when the pod began; the largest number if it never did. */
  long beganAtMs(String uuid, String pod) {
    Cell cell = byUuid.get(uuid);
    return cell == null ? Long.MAX_VALUE : cell.beganAtMs.getOrDefault(pod, Long.MAX_VALUE);
  }

  /**
   * Updates the means. The mean of a pod that is new or begins to work starts with its first
   * reading.
   */
  private static Map<String, Double> means(
      Map<String, Double> before, Map<String, Double> now, Set<String> begun, double kept) {
    if (before.isEmpty() || now.isEmpty()) {
      return now;
    }
    var means = new HashMap<String, Double>(2 * now.size());
    now.forEach(
        (pod, sm) -> {
          boolean begins = works(pod, sm) && !begun.contains(pod);
          double mean = begins ? sm : before.getOrDefault(pod, sm);
          means.put(pod, mean * kept + sm * (1 - kept));
        });
    return Map.copyOf(means);
  }

  Optional<LoadReading> get(String uuid) {
    return Optional.ofNullable(byUuid.get(uuid))
        .map(
            cell ->
                new LoadReading(
                    cell.memoryUsedBytes,
                    cell.sm,
                    cell.smMean,
                    cell.processes,
                    cell.sampledAtMs,
                    cell.memoryUsedBytesByPod,
                    cell.smByPod,
                    cell.activity,
                    cell.memoryKnown));
  }

  /** Returns when the first fresh reading becomes stale; the largest number if there is none. */
  long staleAtMs(long staleAfterMs, long nowMs) {
    long first = Long.MAX_VALUE;
    for (Cell cell : byUuid.values()) {
      long at = cell.sampledAtMs + staleAfterMs + 1;
      first = at > nowMs ? Math.min(first, at) : first;
    }
    return first;
  }

  void retain(Set<String> present) {
    byUuid.keySet().retainAll(present);
  }
}
