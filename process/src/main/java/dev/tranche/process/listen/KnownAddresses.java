package dev.tranche.process.listen;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Since when the addresses of a port's peers are known: from the first whole request that was
 * answered. API servers and kubelets are there before somebody starts pods to crowd a port. Not
 * thread-safe; time is a parameter.
 */
final class KnownAddresses {
  /** Addresses that became known within this time of each other are equal. */
  static final long AHEAD_MS = 60_000;

  /** A night without new pods. */
  private static final long FORGOTTEN_AFTER_MS = 24 * 3_600_000L;

  private static final int ADDRESSES_MAX = 1_024;

  private final Map<String, Known> known = new LinkedHashMap<>();

  private record Known(long sinceMs, long lastMs) {}

  /** Records that a whole request was answered. New addresses do not push out older ones. */
  void answered(String address, long nowMs) {
    Known before = known.get(address);
    if (before == null && known.size() >= ADDRESSES_MAX) {
      known.values().removeIf(other -> nowMs - other.lastMs() >= FORGOTTEN_AFTER_MS);
      if (known.size() >= ADDRESSES_MAX) {
        return;
      }
    }
    known.put(address, new Known(before == null ? nowMs : before.sinceMs(), nowMs));
  }

  boolean knows(String address) {
    return known.containsKey(address);
  }

  /** Whether an address has been known for clearly longer than another one. */
  boolean isAhead(String address, String other, long nowMs) {
    Known first = known.get(address);
    Known second = known.get(other);
    return first != null
        && first.sinceMs() + AHEAD_MS <= (second == null ? nowMs : second.sinceMs());
  }
}
