package dev.tranche.extender.load;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Caches the latest reading of each GPU. The memory of a stale reading still counts as in use,
 * since a missing reading must never make a GPU look free. Its load no longer counts.
 */
public final class LoadCache {
  /** A lower mean counts as idle: an exponentially weighted mean never falls to 0. */
  private static final double IDLE_MEAN = 0.005;

  /**
   * Limit of pods cached for one node, counted for each of its GPUs: twice what one report may
   * name.
   */
  static final int PODS_MAX = 8_192;

  /** Limit for all nodes together. An entry with its key takes less than half a KiB. */
  static final long IN_ALL_MAX = Runtime.getRuntime().maxMemory() / (2 << 10);

  private final long inAllMax;
  private final long staleAfterMs;
  private final double halfLifeMs;
  private final long newcomerMs;
  private final Map<String, NodeReadings> byNode = new HashMap<>();

  /** The cached entries of pods, over all nodes and GPUs. */
  long pods;

  /** Whether any node has reported which pods use its GPUs. */
  private boolean podsNamed;

  /** What changes with a newer reading, in increasing order of importance. */
  public enum LoadChange {
    NONE,
    SOME,
    /** More memory may be free than before. */
    MEMORY_FREED;

    LoadChange or(LoadChange other) {
      return compareTo(other) >= 0 ? this : other;
    }
  }

  /**
   * @param halfLifeMs the half-life of the mean of a pod's use
   * @param newcomerMs the longest time for which a pod is a newcomer on its GPU
   */
  public LoadCache(long staleAfterMs, double halfLifeMs, long newcomerMs) {
    this(staleAfterMs, halfLifeMs, newcomerMs, IN_ALL_MAX);
  }

  LoadCache(long staleAfterMs, double halfLifeMs, long newcomerMs, long inAllMax) {
    this.inAllMax = inAllMax;
    this.staleAfterMs = staleAfterMs;
    this.halfLifeMs = halfLifeMs;
    this.newcomerMs = newcomerMs;
  }

  /**
   * Applies a node's report. The use of single pods is averaged here, from their first work on.
   *
   * @param readings by uuid, only of GPUs that could be read; other GPUs keep their last reading
   *     until the node no longer has them
   * @param present uuids of the node's GPUs; the readings of others are dropped
   */
  public LoadChange put(
      String node, Map<String, LoadReading> readings, Supplier<Set<String>> present) {
    NodeReadings kept = byNode.computeIfAbsent(node, n -> new NodeReadings());
    kept.version++;
    int podsBefore = kept.pods();
    LoadChange change = LoadChange.NONE;
    for (var entry : readings.entrySet()) {
      change =
          change.or(
              kept.put(entry.getKey(), entry.getValue(), halfLifeMs, newcomerMs, staleAfterMs));
    }
    podsNamed |= kept.namesPods;
    if (kept.size() > readings.size()) {
      kept.retain(present.get());
    }
    if (kept.pods() > PODS_MAX || pods + kept.pods() - podsBefore > inAllMax) {
      kept.forgetPodsOfBefore(readings.keySet());
    }
    pods += kept.pods() - podsBefore;
    return change;
  }

  private NodeReadings of(String node) {
    return byNode.getOrDefault(node, NodeReadings.NONE);
  }

  public void forget(String node) {
    pods -= of(node).pods();
    byNode.remove(node);
  }

  /** Returns a number that changes with each report of the node. */
  public long version(String node) {
    return of(node).version;
  }

  /** Returns when the first of a node's fresh readings becomes stale. */
  public long staleAtMs(String node, long nowMs) {
    return of(node).staleAtMs(staleAfterMs, nowMs);
  }

  public Optional<LoadReading> get(String node, String uuid) {
    return of(node).get(uuid);
  }

  /**
   * Returns when a pod was first seen to use the GPU; the largest number if it was not seen yet.
   */
  public long beganAtMs(String node, String uuid, String pod) {
    return of(node).beganAtMs(uuid, pod);
  }

  /**
   * Returns since when a pod has certainly not worked on the GPU; the largest number if nobody
   * knows.
   */
  public long idleSinceMs(String node, String uuid, String pod) {
    return of(node).idleSinceMs(uuid, pod);
  }

  /** Returns whether the node has ever reported which pods use its GPUs. */
  public boolean namesPods(String node) {
    return of(node).namesPods;
  }

  /**
   * Returns whether a node's reading shows which pods use the GPU, including that none does. A node
   * where no pod has worked yet cannot have shown that it can tell. It is assumed to be like the
   * other nodes of the cluster.
   */
  public boolean attributesUse(String node, LoadReading reading) {
    return namesPods(node) || (podsNamed && reading.smMean() < IDLE_MEAN);
  }

  public boolean stale(LoadReading reading, long nowMs) {
    return reading.ageMs(nowMs) > staleAfterMs;
  }
}
