package dev.tranche.nodeplugin.kubelet;

/** So many calls a second, and a few at once. The kubelet sheds callers who exceed its limit. */
final class CallRateLimiter {
  private final double perMs;
  private final int burst;
  private double tokens;
  private long filledAtMs;

  CallRateLimiter(int perSecond, int burst, long nowMs) {
    this.perMs = perSecond / 1000.0;
    this.burst = burst;
    this.tokens = burst;
    this.filledAtMs = nowMs;
  }

  /** Takes one call if at least so many more would remain for others. */
  boolean take(long nowMs, int leave) {
    tokens = Math.min(burst, tokens + Math.max(0, nowMs - filledAtMs) * perMs);
    filledAtMs = Math.max(filledAtMs, nowMs);
    if (tokens < 1 + leave) {
      return false;
    }
    tokens--;
    return true;
  }
}
