package dev.tranche.process.token;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Limits how many bearer tokens from one remote address the API server reviews. Each address has a
 * token bucket. An accepted bearer token gives back what it took. Confined to one event loop; time
 * is a parameter.
 */
public final class ReviewLimiter {
  static final long REFILL_MS = 1_000;

  /**
   * Beyond this the least recently used address is dropped. The total rate is bounded elsewhere.
   */
  static final int ADDRESSES_MAX = 20_000;

  /**
   * @param spent reviews taken, less those refilled by {@code atMs}
   */
  private record Bucket(long spent, long atMs) {
    Bucket at(long nowMs) {
      long refilled = Math.min(spent, (nowMs - atMs) / REFILL_MS);
      // The rest of a second counts towards the next one.
      return new Bucket(spent - refilled, spent == refilled ? nowMs : atMs + refilled * REFILL_MS);
    }
  }

  private final int burst;
  private final Map<String, Bucket> byAddress = new LinkedHashMap<>();

  /**
   * @param burst bearer tokens of one address that may be refused at once
   */
  public ReviewLimiter(int burst) {
    this.burst = burst;
  }

  public boolean tryAcquire(String address, long nowMs) {
    Bucket before = byAddress.remove(address);
    Bucket now = before == null ? new Bucket(0, nowMs) : before.at(nowMs);
    boolean free = now.spent() < burst;
    makeRoom();
    byAddress.put(address, free ? new Bucket(now.spent() + 1, now.atMs()) : now);
    return free;
  }

  /** Gives back the review of an accepted bearer token. */
  public void accepted(String address) {
    byAddress.computeIfPresent(
        address, (same, now) -> now.spent() <= 1 ? null : new Bucket(now.spent() - 1, now.atMs()));
  }

  private void makeRoom() {
    if (byAddress.size() >= ADDRESSES_MAX) {
      Iterator<String> oldest = byAddress.keySet().iterator();
      oldest.next();
      oldest.remove();
    }
  }

  int addresses() {
    return byAddress.size();
  }
}
