package dev.tranche.process;

import java.util.function.LongSupplier;

/** A token bucket. It may go into debt, which is then paid off first. Thread-safe. */
public final class TokenBucket {
  private final double burst;
  private final double perS;
  private final LongSupplier clockMs;
  private double tokens;
  private long lastMs;

  public TokenBucket(double burst, double perS, LongSupplier clockMs) {
    this.burst = burst;
    this.perS = perS;
    this.clockMs = clockMs;
    this.tokens = burst;
    this.lastMs = clockMs.getAsLong();
  }

  /** Takes a token if there is a whole one. */
  public synchronized boolean tryAcquire() {
    boolean available = available();
    tokens -= available ? 1 : 0;
    return available;
  }

  /** Returns whether there is a whole token. */
  public synchronized boolean available() {
    refill();
    return tokens >= 1;
  }

  /** Takes tokens, whether or not there are so many. */
  public synchronized void take(double count) {
    refill();
    tokens -= count;
  }

  public synchronized void giveBack() {
    tokens = Math.min(burst, tokens + 1);
  }

  /** Returns the time until the debt is paid off. */
  public synchronized long debtMs() {
    refill();
    return tokens >= 0 ? 0 : (long) Math.ceil(-tokens / perS * 1_000);
  }

  private void refill() {
    long nowMs = Math.max(lastMs, clockMs.getAsLong());
    tokens = Math.min(burst, tokens + (nowMs - lastMs) / 1_000.0 * perS);
    lastMs = nowMs;
  }
}
