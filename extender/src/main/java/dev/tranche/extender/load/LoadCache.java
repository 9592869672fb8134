package dev.tranche.extender.load;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The latest reading of each GPU. A reading past its age goes on counting as memory in use, since a
 * missing reading must never make a GPU look free, but says nothing of its load any more.
 */
public final class LoadCache {
  private final long staleAfterMs;
  private final double halfLifeMs;
  private final Map<String, NodeReadings> byNode = new HashMap<>();

  /**
   * @param halfLifeMs in that time the mean of what a pod uses forgets half
   */
  public LoadCache(long staleAfterMs, double halfLifeMs) {
    this.staleAfterMs = staleAfterMs;
    this.halfLifeMs = halfLifeMs;
  }

  /**
   * Takes a node's report.
   *
   * @param readings by uuid, only of GPUs that could be read; GPUs left out keep their last one
   *     until the node no longer has them
   *     <p>What single pods use is smoothed here, from their first reading on.
   * @return whether some GPU has more free memory than before
   */
  public boolean put(String node, Map<String, LoadReading> readings) {
    NodeReadings kept = byNode.computeIfAbsent(node, n -> new NodeReadings());
    kept.version++;
    boolean eased = false;
    for (var entry : readings.entrySet()) {
      eased |= kept.put(entry.getKey(), entry.getValue(), halfLifeMs);
    }
    return eased;
  }

  /** Forgets all but a node's present GPUs. */
  public void retain(String node, Set<String> uuids) {
    NodeReadings kept = byNode.get(node);
    if (kept != null) {
      kept.retain(uuids);
    }
  }

  public void forget(String node) {
    byNode.remove(node);
  }

  /** Another number after each report of the node. */
  public long version(String node) {
    NodeReadings kept = byNode.get(node);
    return kept == null ? 0 : kept.version;
  }

  /** When the first of a node's readings that is not stale becomes so. */
  public long staleAtMs(String node, long nowMs) {
    NodeReadings kept = byNode.get(node);
    return kept == null ? Long.MAX_VALUE : kept.staleAtMs(staleAfterMs, nowMs);
  }

  public Optional<LoadReading> get(String node, String uuid) {
    NodeReadings kept = byNode.get(node);
    return kept == null ? Optional.empty() : kept.get(uuid);
  }

  public boolean stale(LoadReading reading, long nowMs) {
    return reading.ageMs(nowMs) > staleAfterMs;
  }
}
