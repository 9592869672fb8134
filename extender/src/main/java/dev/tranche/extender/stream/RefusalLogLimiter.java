package dev.tranche.extender.stream;

import java.util.HashMap;
import java.util.Map;

/** Limits how often refusals are logged. Confined to one event loop; time is a parameter. */
final class RefusalLogLimiter {
  private static final long LOG_EVERY_MS = 10_000;
  private static final int LOGGED_MAX = 1_024;

  private final Map<String, Long> loggedMs = new HashMap<>();

  /** Returns whether to log a refusal of this address, which is allowed once in ten seconds. */
  boolean tryAcquire(String address, long nowMs) {
    if (loggedMs.size() >= LOGGED_MAX) {
      loggedMs.values().removeIf(last -> nowMs - last >= LOG_EVERY_MS);
    }
    Long last = loggedMs.get(address);
    boolean lately = last != null && nowMs - last < LOG_EVERY_MS;
    if (lately || loggedMs.size() >= LOGGED_MAX) {
      return false;
    }
    loggedMs.put(address, nowMs);
    return true;
  }
}
