package dev.tranche.nodeplugin.gpu;

import java.util.HashMap;
import java.util.Map;

/**
 * Limits the events of a GPU that fails again and again, as in a storm of ECC errors. That it is
 * unhealthy is reported at most once a minute. Confined to one thread.
 */
public final class RepeatedFaults {
  static final long REPORT_INTERVAL_MS = 60_000;
  private static final String FAULT = "GpuUnhealthy";

  // By uuid: when a fault was last reported that has not ended since.
  private final Map<String, Long> reportedAtMs = new HashMap<>();

  /**
   * Returns whether to report this change as an event. If so, it counts as reported.
   *
   * @param nowMs of a monotonic clock
   */
  public boolean markReportedIfDue(HealthChange change, long nowMs) {
    if (!change.reason().equals(FAULT)) {
      reportedAtMs.remove(change.uuid());
      return true;
    }
    Long before = reportedAtMs.get(change.uuid());
    if (before != null && nowMs - before < REPORT_INTERVAL_MS) {
      return false;
    }
    reportedAtMs.put(change.uuid(), nowMs);
    return true;
  }
}
