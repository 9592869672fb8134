package dev.tranche.extender.readapi;

import java.util.HashMap;
import java.util.Map;

/**
 * Counts what requests use at once, in total and per address. Loopback has no part of its own: all
 * its callers are of {@code kubectl port-forward}. Thread-safe.
 */
final class AddressBudget {
  private static final String LOOPBACK = "127.0.0.1";

  private final long max;
  private final long perAddressMax;
  private final Map<String, Long> byAddress = new HashMap<>();
  private long used;

  AddressBudget(long max, long perAddressMax) {
    this.max = max;
    this.perAddressMax = perAddressMax;
  }

  /** Takes an amount, or nothing if it is too much. */
  synchronized boolean tryTake(String address, long amount) {
    long ofAddress = byAddress.getOrDefault(address, 0L) + amount;
    if (used + amount > max || (ofAddress > perAddressMax && !address.equals(LOOPBACK))) {
      return false;
    }
    used += amount;
    byAddress.put(address, ofAddress);
    return true;
  }

  synchronized void release(String address, long amount) {
    used -= amount;
    byAddress.computeIfPresent(address, (same, held) -> held == amount ? null : held - amount);
  }

  synchronized long used() {
    return used;
  }
}
