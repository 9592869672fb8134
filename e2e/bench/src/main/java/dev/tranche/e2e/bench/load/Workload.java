package dev.tranche.e2e.bench.load;

import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;

/**
 * Pods whose use differs from their request. As long as none has to wait, their arrivals keep the
 * number of allocated replicas at one level. Every scheduler gets the same arrivals.
 *
 * @param levelReplicas that level
 * @param fullS when it is reached, if no pod has to wait
 */
public record Workload(List<Pod> pods, int levelReplicas, double fullS) {
  /** The part of the cluster's replicas that is allocated. */
  private static final double ALLOCATED = 0.7;

  private static final int[] SHARES = {1, 2, 3, 5};
  private static final double[] SHARES_ODDS = {0.3, 0.3, 0.2, 0.2};

  /** Real use as a multiple of the requested share. */
  static final double[] USE_FACTORS = {0.1, 1, 2, 5};

  static final double[] USE_FACTOR_ODDS = {0.5, 0.3, 0.15, 0.05};

  /** The bounds of a random life, as multiples of the mean. */
  private static final double LIFE_MIN = 0.1;

  private static final double LIFE_MAX = 5;

  /** Sets the arrivals so that the cluster fills within a mean life or so. */
  private static final double FILL = 0.6;

  /**
   * @param replicas the requested replicas
   * @param sm the part of one GPU that is really used, 0 to 1
   * @param memory likewise
   * @param lifeS how long it lives after it is bound
   */
  public record Pod(
      int number, int replicas, double sm, double memory, double arrivesS, double lifeS) {}

  public Workload {
    pods = List.copyOf(pods);
  }

  /**
   * @param lifeS the mean
   */
  public static Workload of(long seed, int count, int gpus, int replicasPerGpu, double lifeS) {
    var random = new Random(seed);
    double level = ALLOCATED * gpus * replicasPerGpu;
    double meanShare = mean();
    double gapS = FILL * lifeS * meanShare / level;
    var ends = new PriorityQueue<double[]>((a, b) -> Double.compare(a[0], b[0]));
    var pods = new ArrayList<Pod>(count);
    double nowS = 0;
    double fullS = 0;
    int allocated = 0;
    for (int i = 0; i < count; i++) {
      int share = SHARES[draw(random, SHARES_ODDS)];
      int use = draw(random, USE_FACTOR_ODDS);
      double life = lifeS * Math.clamp(-Math.log(1 - random.nextDouble()), LIFE_MIN, LIFE_MAX);
      nowS += gapS;
      while (!ends.isEmpty() && (ends.element()[0] <= nowS || allocated + share > level)) {
        double[] end = ends.remove();
        fullS = fullS == 0 && end[0] > nowS ? nowS : fullS;
        nowS = Math.max(nowS, end[0]);
        allocated -= (int) end[1];
      }
      allocated += share;
      ends.add(new double[] {nowS + life, share});
      double requested = (double) share / replicasPerGpu;
      pods.add(
          new Pod(
              i,
              share,
              Math.min(1, requested * USE_FACTORS[use]),
              Math.min(1, requested * USE_FACTORS[use]),
              nowS,
              life));
    }
    return new Workload(pods, (int) level, fullS);
  }

  private static double mean() {
    double mean = 0;
    for (int i = 0; i < SHARES.length; i++) {
      mean += SHARES[i] * SHARES_ODDS[i];
    }
    return mean;
  }

  private static int draw(Random random, double[] odds) {
    double left = random.nextDouble();
    for (int i = 0; i < odds.length - 1; i++) {
      left -= odds[i];
      if (left < 0) {
        return i;
      }
    }
    return odds.length - 1;
  }
}
