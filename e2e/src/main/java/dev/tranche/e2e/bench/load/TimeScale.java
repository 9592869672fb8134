package dev.tranche.e2e.bench.load;

/**
 * Time is pressed together {@value #FACTOR} times: pods live for seconds instead of minutes, and
 * what the parts wait for is shortened alike.
 */
final class TimeScale {
  static final int FACTOR = 40;

  /** Of the mean of SM utilization, 10 s in a node plugin. */
  static final double HALF_LIFE_S = 10.0 / FACTOR;

  /** What the extender is told: {@code --measured-after-ms}, 30 s by default. */
  static final long MEASURED_AFTER_MS = 30_000 / FACTOR;

  /**
   * Between two readings; a node plugin reads every second, which would be too often here. So it
   * knows less than it would.
   */
  static final double READ_EVERY_S = 0.25;

  /**
   * A reading sent this long before a node is told of a pod was there when that was decided. One
   * that was sent later may have been.
   */
  static final double KNOWN_AFTER_S = 0.05;

  /** Pods that wait for longer keep no others from arriving. */
  static final double WAITS_S = 1;

  private TimeScale() {}

  /** The exponentially weighted mean of utilization after one more reading. */
  static double mean(double before, double now, double passedS) {
    double kept = Math.pow(0.5, passedS / HALF_LIFE_S);
    return before * kept + now * (1 - kept);
  }
}
