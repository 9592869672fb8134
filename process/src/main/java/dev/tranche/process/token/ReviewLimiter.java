package dev.tranche.process.token;

import dev.tranche.process.TokenBucket;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Limits how many bearer tokens from one remote address the API server reviews. Each address has a
 * token bucket. An accepted bearer token gives back what it took. Confined to one event loop; time
 * is a parameter.
 */
public final class ReviewLimiter {
  static final double PER_SECOND = 1;

  /**
   * Beyond this the least recently used address is dropped. The total rate is bounded elsewhere.
   */
  static final int ADDRESSES_MAX = 20_000;

  private final int burst;

  /** In the order of access. */
  private final Map<String, TokenBucket> byAddress =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, TokenBucket> eldest) {
          return size() > ADDRESSES_MAX;
        }
      };

  /**
   * @param burst bearer tokens of one address that may be refused at once
   */
  public ReviewLimiter(int burst) {
    this.burst = burst;
  }

  public boolean tryAcquire(String address, long nowMs) {
    TokenBucket bucket =
        byAddress.computeIfAbsent(address, first -> new TokenBucket(burst, PER_SECOND, nowMs));
    boolean free = bucket.available(nowMs);
    if (free) {
      bucket.take(1, nowMs);
    }
    return free;
  }

  /** Gives back the review of an accepted bearer token. */
  public void accepted(String address) {
    byAddress.computeIfPresent(address, (same, bucket) -> bucket.giveBack() ? null : bucket);
  }

  int addresses() {
    return byAddress.size();
  }
}
