package dev.tranche.api;

import java.util.concurrent.ThreadLocalRandom;

/**
 * How long to wait before the next attempt, in milliseconds: twice as long after each failure, up
 * to a maximum. Confined to one thread.
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

  /** After a failure. */
  public long next() {
    long ms = nextMs;
    nextMs = Math.min(2 * nextMs, msMax);
    return ms;
  }

  /** After a failure, at random between a half of it and the whole: many shall not come at once. */
  public long nextWithJitter() {
    long ms = next();
    return ms / 2 + ThreadLocalRandom.current().nextLong(ms / 2 + 1);
  }

  /** After a success. */
  public void reset() {
    nextMs = msMin;
  }
}
