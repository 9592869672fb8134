package dev.tranche.extender.stream;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * How many connections may be open, in all and from one address, whether or not their token is
 * known yet; and how often a refusal is worth a line in the log. Of one event loop; time is a
 * parameter.
 */
final class Callers {
  /** Every node has one; one more each while they reconnect. */
  private static final int OPEN_MAX = 20_000;

  private static final long LOG_EVERY_MS = 10_000;
  private static final int LOGGED_MAX = 1_024;

  private final int perAddressMax;
  private final Map<String, Integer> byAddress = new HashMap<>();
  private final Map<String, Long> loggedMs = new HashMap<>();
  private int open;

  /**
   * @param perAddressMax behind an address translation several nodes may share one
   */
  Callers(int perAddressMax) {
    this.perAddressMax = perAddressMax;
  }

  /**
   * @return why it may not be opened, a sentence; if empty it counts until {@link #left}
   */
  Optional<String> entered(String address) {
    int ofAddress = byAddress.getOrDefault(address, 0);
    if (open >= OPEN_MAX || ofAddress >= perAddressMax) {
      return Optional.of(
          "%d connections are open, %d of them from here; allowed are %d and %d"
              .formatted(open, ofAddress, OPEN_MAX, perAddressMax));
    }
    open++;
    byAddress.put(address, ofAddress + 1);
    return Optional.empty();
  }

  void left(String address) {
    open--;
    byAddress.computeIfPresent(address, (a, count) -> count == 1 ? null : count - 1);
  }

  /** Whether to log a refusal of this address: once in ten seconds. */
  boolean worthALine(String address, long nowMs) {
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
