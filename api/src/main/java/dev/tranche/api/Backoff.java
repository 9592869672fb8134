package dev.tranche.api;

import java.util.concurrent.ThreadLocalRandom;

/**
 * Exponential backoff in milliseconds: the delay doubles after each failure, up to a maximum.
 * Confined to one thread.
 */
public final class Backoff {
  private final long msMin;
  private final long msMax;
  private long nextMs;

  public Backoff(long msMin, long msMax) {
    this.msMin = msMin;
    this.msMax = msMax;
    this.nextMs = msMin;
  }

  /** Returns the delay after a failure. */
  public long next() {
    long ms = nextMs;
    nextMs = Math.min(2 * nextMs, msMax);
    return ms;
  }

  /**
   * Returns a random delay after a failure, between half of the backoff and all of it, so that many
   * clients do not retry at once.
   */
  public long nextWithJitter() {
    long ms = next();
    return ms / 2 + ThreadLocalRandom.current().nextLong(ms / 2 + 1);
  }

  /** Resets the delay after a success. */
  public void reset() {
    nextMs = msMin;
  }
}
