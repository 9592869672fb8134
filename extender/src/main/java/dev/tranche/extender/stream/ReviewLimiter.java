package dev.tranche.extender.stream;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Limits how many tokens of one remote address the API server reviews. Each address has a token
 * bucket. An accepted token gives back what it took. Of one event loop; time is a parameter.
 */
public final class ReviewLimiter {
  /** As many nodes as may share an address, all of them at once. */
  static final int BURST = StreamServer.PER_ADDRESS_MAX;

  static final long REFILL_MS = 1_000;

  /** Beyond it the longest unused is forgotten: what all may ask together is bounded elsewhere. */
  static final int ADDRESSES_MAX = 20_000;

  /**
   * @param spent less what was refilled until then
   */
  private record Bucket(long spent, long atMs) {
    Bucket at(long nowMs) {
      long refilled = Math.min(spent, (nowMs - atMs) / REFILL_MS);
      // What is left of a second counts for the next one.
      return new Bucket(spent - refilled, spent == refilled ? nowMs : atMs + refilled * REFILL_MS);
    }
  }

  private final int burst;
  private final Map<String, Bucket> byAddress = new LinkedHashMap<>();

  ReviewLimiter() {
    this(BURST);
  }

  /**
   * @param burst tokens of one address that may be refused at once
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

  /** It was a good one. */
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
