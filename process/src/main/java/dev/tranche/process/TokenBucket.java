package dev.tranche.process;

/** A token bucket. It may go into debt, which is then paid off first. Time is a parameter. */
public final class TokenBucket {
  private final double burst;
  private final double perS;
  private double tokens;
  private long lastMs;

  public TokenBucket(double burst, double perS, long nowMs) {
    this.burst = burst;
    this.perS = perS;
    this.tokens = burst;
    this.lastMs = nowMs;
  }

  /** Returns whether there is a whole token. */
  public boolean available(long nowMs) {
    refill(nowMs);
    return tokens >= 1;
  }

  /** Takes tokens, whether or not there are so many. */
  public void take(double count, long nowMs) {
    refill(nowMs);
    tokens -= count;
  }

  /** Gives a token back. Returns whether the bucket is as good as a new one. */
  public boolean giveBack() {
    tokens = Math.min(burst, tokens + 1);
    return tokens >= burst;
  }

  /** Returns the time until the debt is paid off. */
  public long debtMs(long nowMs) {
    refill(nowMs);
    return tokens >= 0 ? 0 : (long) Math.ceil(-tokens / perS * 1_000);
  }

  /** Returns whether the bucket is as good as a new one. */
  public boolean full(long nowMs) {
    refill(nowMs);
    return tokens >= burst;
  }

  private void refill(long nowMs) {
    double seconds = Math.max(0, nowMs - lastMs) / 1_000.0;
    lastMs = Math.max(lastMs, nowMs);
    tokens = Math.min(burst, tokens + seconds * perS);
  }
}
