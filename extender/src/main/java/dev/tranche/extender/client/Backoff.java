package dev.tranche.extender.client;

/**
 * How long to wait before the API server is asked again, in milliseconds: twice as long each time,
 * until a watch has lasted. One that only opens is no sign of health, and behind it comes a list of
 * everything.
 */
public final class Backoff {
  static final long MS_MIN = 250;
  static final long MS_MAX = 30_000;
  static final long LASTING_MS = 10_000;

  private long ms = MS_MIN;

  public long afterWatch(long lastedMs) {
    ms = lastedMs >= LASTING_MS ? MS_MIN : longer();
    return ms;
  }

  public long afterFailure() {
    ms = longer();
    return ms;
  }

  private long longer() {
    return Math.min(2 * ms, MS_MAX);
  }
}
