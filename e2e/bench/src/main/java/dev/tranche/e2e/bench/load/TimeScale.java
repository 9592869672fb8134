package dev.tranche.e2e.bench.load;

/**
 * Time runs {@value #FACTOR} times faster: pods live for seconds instead of minutes, and the waits
 * of all components are shortened alike.
 */
final class TimeScale {
  static final int FACTOR = 40;

  /** The half-life of the mean SM utilization, which is 10 s in a node plugin. */
  static final double HALF_LIFE_S = 10.0 / FACTOR;

  /** The extender's {@code --measured-after-ms}, 30 s by default. */
  static final long MEASURED_AFTER_MS = 30_000 / FACTOR;

  /**
   * Between two readings; a node plugin reads every second, which would be too often here. So the
   * extender knows less than it would.
   */
  static final double READ_EVERY_S = 0.25;

  /** Pods that wait longer than this do not delay the arrival of others. */
  static final double WAITS_S = 1;

  private TimeScale() {}

  /** The exponentially weighted mean of utilization after one more reading. */
  static double mean(double before, double now, double passedS) {
    double kept = Math.pow(0.5, passedS / HALF_LIFE_S);
    return before * kept + now * (1 - kept);
  }
}
