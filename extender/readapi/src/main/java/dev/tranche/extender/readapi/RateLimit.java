package dev.tranche.extender.readapi;

/** Limits calls per second, counted in whole seconds. Thread-safe; time is a parameter. */
final class RateLimit {
  private static final long SECOND_MS = 1_000;

  private final int perSecondMax;
  private long second = Long.MIN_VALUE;
  private int used;

  RateLimit(int perSecondMax) {
    this.perSecondMax = perSecondMax;
  }

  synchronized boolean tryAcquire(long nowMs) {
    long now = Math.floorDiv(nowMs, SECOND_MS);
    if (now != second) {
      second = now;
      used = 0;
    }
    if (used == perSecondMax) {
      return false;
    }
    used++;
    return true;
  }
}
