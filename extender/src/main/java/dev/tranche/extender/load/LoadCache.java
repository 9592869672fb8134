package dev.tranche.extender.load;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * The latest reading of each GPU. A reading past its age still counts as memory in use, since a
 * missing reading must never make a GPU look free. It says nothing about the GPU's load any more.
 */
public final class LoadCache {
  /** Less is nothing: a mean forgets, and never all. */
  private static final double IDLE_MEAN = 0.005;

  /** Pods remembered of one node, with each of its GPUs: twice what one report may name. */
  static final int PODS_MAX = 8_192;

  private final long staleAfterMs;
  private final double halfLifeMs;
  private final long newcomerMs;
  private final Map<String, NodeReadings> byNode = new HashMap<>();

  /** Over all nodes; metrics are read on another thread. */
  private final AtomicLong pods = new AtomicLong();

  /** Some node has said which pods use its GPUs. */
  private boolean podsNamed;

  /** What a reading says beside that it is newer; the last is the most. */
  public enum News {
    NONE,
    SOME,
    /** More memory may be free than before. */
    EASED;

    News or(News other) {
      return compareTo(other) >= 0 ? this : other;
    }
  }

  /**
   * @param halfLifeMs in that time the mean of what a pod uses forgets half
   * @param newcomerMs for so long at most a pod is a newcomer on its GPU
   */
  public LoadCache(long staleAfterMs, double halfLifeMs, long newcomerMs) {
    this.staleAfterMs = staleAfterMs;
    this.halfLifeMs = halfLifeMs;
    this.newcomerMs = newcomerMs;
  }

  /**
   * Takes a node's report.
   *
   * @param readings by uuid, only of GPUs that could be read; GPUs left out keep their last one
   *     until the node no longer has them
   *     <p>What single pods use is smoothed here, from their first work on.
   * @param present uuids of the node's GPUs; the others are forgotten
   */
  public News put(String node, Map<String, LoadReading> readings, Supplier<Set<String>> present) {
    NodeReadings kept = byNode.computeIfAbsent(node, n -> new NodeReadings());
    kept.version++;
    int podsBefore = kept.pods();
    News news = News.NONE;
    for (var entry : readings.entrySet()) {
      news = news.or(kept.put(entry.getKey(), entry.getValue(), halfLifeMs, newcomerMs));
    }
    podsNamed |= kept.namesPods;
    if (kept.size() > readings.size()) {
      kept.retain(present.get());
    }
    if (kept.pods() > PODS_MAX) {
      kept.forgetPodsOfBefore(readings.keySet());
    }
    count(kept.pods() - podsBefore);
    return news;
  }

  private void count(int more) {
    pods.addAndGet(more);
  }

  /** How many are remembered, with each of their GPUs. */
  public long pods() {
    return pods.get();
  }

  private NodeReadings of(String node) {
    return byNode.getOrDefault(node, NodeReadings.NONE);
  }

  public void forget(String node) {
    count(-of(node).pods());
    byNode.remove(node);
  }

  /** Another number after each report of the node. */
  public long version(String node) {
    return of(node).version;
  }

  /** When the first of a node's readings that is not stale becomes so. */
  public long staleAtMs(String node, long nowMs) {
    return of(node).staleAtMs(staleAfterMs, nowMs);
  }

  public Optional<LoadReading> get(String node, String uuid) {
    return of(node).get(uuid);
  }

  /** When a pod was first seen to use the GPU; not yet: the largest number. */
  public long beganAtMs(String node, String uuid, String pod) {
    return of(node).beganAtMs(uuid, pod);
  }

  /** Whether the node has ever said which pods use its GPUs. */
  public boolean namesPods(String node) {
    return of(node).namesPods;
  }

  /**
   * Whether a node's reading says which pods use the GPU, be it that none does. Where none has
   * worked yet the node cannot have shown that it can tell; nodes of one cluster mostly are alike.
   */
  public boolean tellsWho(String node, LoadReading reading) {
    return namesPods(node) || (podsNamed && reading.smMean() < IDLE_MEAN);
  }

  public boolean stale(LoadReading reading, long nowMs) {
    return reading.ageMs(nowMs) > staleAfterMs;
  }
}
