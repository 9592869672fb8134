package dev.tranche.e2e.bench.webhook;

import java.util.Arrays;

/** Durations as they come. */
final class Times {
  private double[] ms = new double[4_096];
  private int count;

  void add(long nanos) {
    if (count == ms.length) {
      ms = Arrays.copyOf(ms, 2 * count);
    }
    ms[count++] = nanos / 1e6;
  }

  double[] ms() {
    return Arrays.copyOf(ms, count);
  }
}
