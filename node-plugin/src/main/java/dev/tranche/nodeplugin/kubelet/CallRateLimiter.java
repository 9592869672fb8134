package dev.tranche.nodeplugin.kubelet;

/** Limits calls per second, with a burst. The kubelet rejects callers that exceed its limit. */
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

  /** Takes one call if at least {@code reserve} more would remain for others. */
  boolean take(long nowMs, int reserve) {
    tokens = Math.min(burst, tokens + Math.max(0, nowMs - filledAtMs) * perMs);
    filledAtMs = Math.max(filledAtMs, nowMs);
    if (tokens < 1 + reserve) {
      return false;
    }
    tokens--;
    return true;
  }
}
