package dev.tranche.nodeplugin.gpu;

import java.util.HashMap;
import java.util.Map;

/**
 * Keeps a GPU that fails again and again, as in a storm of ECC errors, from making an event each
 * time: that it is unhealthy is told once a minute. Confined to one thread.
 */
public final class RepeatedFaults {
  static final long BETWEEN_MS = 60_000;
  private static final String FAULT = "GpuUnhealthy";

  // By uuid: when a fault was told, and no end of it since.
  private final Map<String, Long> toldAtMs = new HashMap<>();

  /**
   * Whether people should hear of this.
   *
   * @param nowMs of a clock that only goes forward
   */
  public boolean worthTelling(HealthChange news, long nowMs) {
    if (!news.reason().equals(FAULT)) {
      toldAtMs.remove(news.uuid());
      return true;
    }
    Long before = toldAtMs.get(news.uuid());
    if (before != null && nowMs - before < BETWEEN_MS) {
      return false;
    }
    toldAtMs.put(news.uuid(), nowMs);
    return true;
  }
}
