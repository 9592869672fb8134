package dev.tranche.extender.load;

import dev.tranche.extender.load.LoadCache.News;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The latest readings of one node's GPUs, in columns that are overwritten. Thousands of nodes
 * report every few seconds. A record for each reading would live just long enough to be promoted
 * and cost a full collection.
 */
final class NodeReadings {
  private static final int GPUS = 8;

  long version;

  /** A pod was seen at work: the node can tell who uses its GPUs. */
  boolean namesPods;

  private int count;
  private String[] uuids = new String[GPUS];
  private long[] memoryUsedBytes = new long[GPUS];
  private double[] sm = new double[GPUS];
  private double[] smMean = new double[GPUS];
  private int[] processes = new int[GPUS];
  private long[] sampledAtMs = new long[GPUS];

  @SuppressWarnings({"unchecked", "rawtypes"}) // Java has no arrays of parameterized types.
  private Map<String, Long>[] memoryUsedBytesByPod = new Map[GPUS];

  @SuppressWarnings({"unchecked", "rawtypes"}) // Likewise.
  private Map<String, Double>[] smByPod = new Map[GPUS];

  /** When a pod was first seen to use its GPU. */
  @SuppressWarnings({"unchecked", "rawtypes"}) // Likewise.
  private Map<String, Long>[] beganAtMs = new Map[GPUS];

  /**
   * @param begunKeptMs for so long at least a beginning is remembered of a pod that pauses
   */
  News put(String uuid, LoadReading reading, double halfLifeMs, long begunKeptMs) {
    int i = indexOf(uuid);
    boolean known = i >= 0;
    if (!known) {
      i = add(uuid);
    }
    double kept = Math.pow(0.5, Math.max(0, reading.sampledAtMs() - sampledAtMs[i]) / halfLifeMs);
    Map<String, Double> means = means(smByPod[i], reading.smByPod(), beganAtMs[i].keySet(), kept);
    News news = known ? news(i, reading, means) : News.SOME;
    smByPod[i] = means;
    beganAtMs[i] = began(beganAtMs[i], reading, begunKeptMs);
    namesPods = namesPods || !beganAtMs[i].isEmpty();
    memoryUsedBytes[i] = reading.memoryUsedBytes();
    sm[i] = reading.sm();
    smMean[i] = reading.smMean();
    processes[i] = reading.processes();
    sampledAtMs[i] = reading.sampledAtMs();
    memoryUsedBytesByPod[i] = reading.memoryUsedBytesByPod();
    return news;
  }

  private News news(int i, LoadReading reading, Map<String, Double> means) {
    Map<String, Long> before = memoryUsedBytesByPod[i];
    Map<String, Long> now = reading.memoryUsedBytesByPod();
    if (memoryUsedBytes[i] > reading.memoryUsedBytes()
        || nobodys(memoryUsedBytes[i], before) > nobodys(reading.memoryUsedBytes(), now)
        || anyLess(before, now)) {
      return News.EASED;
    }
    boolean same =
        memoryUsedBytes[i] == reading.memoryUsedBytes()
            && before.equals(now)
            && smMean[i] == reading.smMean()
            && processes[i] == reading.processes()
            && smByPod[i].equals(means);
    return same ? News.NONE : News.SOME;
  }

  /** What is a known pod's is within its grant, and what is nobody's is not. */
  private static long nobodys(long usedBytes, Map<String, Long> byPod) {
    long bytes = usedBytes;
    for (long used : byPod.values()) {
      bytes -= used;
    }
    return bytes;
  }

  /** A pod may have had more than its grant, and another may have taken up within its own. */
  private static boolean anyLess(Map<String, Long> before, Map<String, Long> now) {
    if (before.equals(now)) {
      return false;
    }
    for (var use : before.entrySet()) {
      if (now.getOrDefault(use.getKey(), 0L) < use.getValue()) {
        return true;
      }
    }
    return false;
  }

  int size() {
    return count;
  }

  /** Pods that are remembered, with each of their GPUs and for each of what is kept of them. */
  int pods() {
    int pods = 0;
    for (int i = 0; i < count; i++) {
      pods += memoryUsedBytesByPod[i].size() + beganAtMs[i].size();
    }
    return pods;
  }

  /**
   * Forgets pods that the last report does not name: their memory is then in use by somebody
   * unknown, and they begin anew.
   *
   * @param reported uuids of the GPUs that it has
   */
  void forgetPodsOfBefore(Set<String> reported) {
    for (int i = 0; i < count; i++) {
      if (!reported.contains(uuids[i])) {
        memoryUsedBytesByPod[i] = Map.of();
        smByPod[i] = Map.of();
        beganAtMs[i] = Map.of();
      } else {
        var began = new HashMap<>(beganAtMs[i]);
        began.keySet().retainAll(smByPod[i].keySet());
        beganAtMs[i] = Map.copyOf(began);
      }
    }
  }

  private static boolean works(String pod, double sm) {
    return sm > 0 && !pod.equals(LoadReading.OTHERS);
  }

  /** A pod that pauses has begun all the same. */
  private static Map<String, Long> began(
      Map<String, Long> before, LoadReading reading, long keptMs) {
    Map<String, Double> uses = reading.smByPod();
    long oldestMs = reading.sampledAtMs() - keptMs;
    boolean same = true;
    for (var use : uses.entrySet()) {
      same &= !works(use.getKey(), use.getValue()) || before.containsKey(use.getKey());
    }
    for (var pod : before.entrySet()) {
      same &= pod.getValue() >= oldestMs || uses.containsKey(pod.getKey());
    }
    if (same) {
      return before;
    }
    var began = new HashMap<>(before);
    began.entrySet().removeIf(e -> e.getValue() < oldestMs && !uses.containsKey(e.getKey()));
    uses.forEach(
        (pod, sm) -> {
          if (works(pod, sm)) {
            began.putIfAbsent(pod, reading.sampledAtMs());
          }
        });
    return Map.copyOf(began);
  }

  /** Never: the largest number. */
  long beganAtMs(String uuid, String pod) {
    int i = indexOf(uuid);
    return i < 0 ? Long.MAX_VALUE : beganAtMs[i].getOrDefault(pod, Long.MAX_VALUE);
  }

  /** Who is new, and who begins to work, begins with what was read first of it. */
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
    int i = indexOf(uuid);
    return i < 0
        ? Optional.empty()
        : Optional.of(
            new LoadReading(
                memoryUsedBytes[i],
                sm[i],
                smMean[i],
                processes[i],
                sampledAtMs[i],
                memoryUsedBytesByPod[i],
                smByPod[i]));
  }

  /** When the first that is not stale becomes so; never: the largest number. */
  long staleAtMs(long staleAfterMs, long nowMs) {
    long first = Long.MAX_VALUE;
    for (int i = 0; i < count; i++) {
      long at = sampledAtMs[i] + staleAfterMs + 1;
      first = at > nowMs ? Math.min(first, at) : first;
    }
    return first;
  }

  void retain(Set<String> present) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
      if (present.contains(uuids[i])) {
        move(i, kept++);
      }
    }
    count = kept;
    for (int i = kept; i < uuids.length; i++) {
      uuids[i] = "";
      memoryUsedBytesByPod[i] = Map.of();
      smByPod[i] = Map.of();
      beganAtMs[i] = Map.of();
    }
  }

  private int indexOf(String uuid) {
    for (int i = 0; i < count; i++) {
      if (uuids[i].equals(uuid)) {
        return i;
      }
    }
    return -1;
  }

  private int add(String uuid) {
    if (count == uuids.length) {
      int longer = 2 * count;
      uuids = Arrays.copyOf(uuids, longer);
      memoryUsedBytes = Arrays.copyOf(memoryUsedBytes, longer);
      sm = Arrays.copyOf(sm, longer);
      smMean = Arrays.copyOf(smMean, longer);
      processes = Arrays.copyOf(processes, longer);
      sampledAtMs = Arrays.copyOf(sampledAtMs, longer);
      memoryUsedBytesByPod = Arrays.copyOf(memoryUsedBytesByPod, longer);
      smByPod = Arrays.copyOf(smByPod, longer);
      beganAtMs = Arrays.copyOf(beganAtMs, longer);
    }
    uuids[count] = uuid;
    smByPod[count] = Map.of();
    beganAtMs[count] = Map.of();
    return count++;
  }

  private void move(int from, int to) {
    uuids[to] = uuids[from];
    memoryUsedBytes[to] = memoryUsedBytes[from];
    sm[to] = sm[from];
    smMean[to] = smMean[from];
    processes[to] = processes[from];
    sampledAtMs[to] = sampledAtMs[from];
    memoryUsedBytesByPod[to] = memoryUsedBytesByPod[from];
    smByPod[to] = smByPod[from];
    beganAtMs[to] = beganAtMs[from];
  }
}
