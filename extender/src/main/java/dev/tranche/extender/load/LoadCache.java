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
  private final Map<String, Map<String, LoadReading>> byNode = new HashMap<>();
  private final Map<String, Long> versions = new HashMap<>();

  public LoadCache(long staleAfterMs) {
    this.staleAfterMs = staleAfterMs;
  }

  /**
   * Takes a node's report.
   *
   * @param readings by uuid, only of GPUs that could be read; GPUs left out keep their last one
   *     until the node no longer has them
   * @return whether some GPU has more free memory than before
   */
  public boolean put(String node, Map<String, LoadReading> readings) {
    Map<String, LoadReading> kept = byNode.computeIfAbsent(node, n -> new HashMap<>());
    versions.merge(node, 1L, Long::sum);
    boolean eased = false;
    for (var entry : readings.entrySet()) {
      LoadReading before = kept.put(entry.getKey(), entry.getValue());
      eased |= before != null && before.memoryUsedBytes() > entry.getValue().memoryUsedBytes();
    }
    return eased;
  }

  /** Forgets all but a node's present GPUs. */
  public void retain(String node, Set<String> uuids) {
    Map<String, LoadReading> kept = byNode.get(node);
    if (kept != null) {
      kept.keySet().retainAll(uuids);
    }
  }

  public void forget(String node) {
    byNode.remove(node);
    versions.remove(node);
  }

  /** Another number after each report of the node. */
  public long version(String node) {
    return versions.getOrDefault(node, 0L);
  }

  /** When the first of a node's readings that is not stale becomes so. */
  public long staleAtMs(String node, long nowMs) {
    long first = Long.MAX_VALUE;
    for (LoadReading reading : byNode.getOrDefault(node, Map.of()).values()) {
      long at = reading.sampledAtMs() + staleAfterMs + 1;
      first = at > nowMs ? Math.min(first, at) : first;
    }
    return first;
  }

  public Optional<LoadReading> get(String node, String uuid) {
    return Optional.ofNullable(byNode.getOrDefault(node, Map.of()).get(uuid));
  }

  public boolean stale(LoadReading reading, long nowMs) {
    return reading.ageMs(nowMs) > staleAfterMs;
  }
}
