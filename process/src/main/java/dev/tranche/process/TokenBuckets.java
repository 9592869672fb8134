package dev.tranche.process;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/** A token bucket for each node or address. Thread-safe. */
public final class TokenBuckets {
  /** As many as nodes can be connected. Beyond it the least recently used one is dropped. */
  private static final int KEPT_MAX = 20_000;

  private final double burst;
  private final double perS;
  private final LongSupplier clockMs;

  /** In the order of access. */
  private final Map<String, TokenBucket> byKey =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, TokenBucket> eldest) {
          return size() > KEPT_MAX;
        }
      };

  public TokenBuckets(double burst, double perS, LongSupplier clockMs) {
    this.burst = burst;
    this.perS = perS;
    this.clockMs = clockMs;
  }

  public synchronized TokenBucket of(String key) {
    return byKey.computeIfAbsent(key, first -> new TokenBucket(burst, perS, clockMs));
  }
}
