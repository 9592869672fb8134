package dev.tranche.process.loop;

/** A clock that nobody sets back, so that no duration stalls. */
public final class MonotonicClock {
  private MonotonicClock() {}

  /** Returns milliseconds since some moment. */
  public static long ms() {
    return System.nanoTime() / 1_000_000;
  }
}
