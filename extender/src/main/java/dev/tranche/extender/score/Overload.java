package dev.tranche.extender.score;

import dev.tranche.extender.placement.GpuView;

/**
 * What it costs to put a share on a GPU, in GPUs' worth of work; pure. Nobody knows what a pod is
 * going to use before it runs, and where it is put it stays. So the cost is the work that is likely
 * to be lost there because more is wanted than the GPU has, and, where little is wanted yet, the
 * price of the headroom that the next newcomer could have had. Without that price newcomers would
 * be spread evenly until no GPU has headroom for one that turns out to want all of it.
 */
final class Overload {
  /** A pod's real use in terms of its share, roughly: most use less, some use far more. */
  private static final double[] USES = {0.25, 1, 2, 4};

  private static final double[] USES_ODDS = {0.5, 0.3, 0.1, 0.1};

  /** A GPU with less load than this is where newcomers can go; above, nothing more is spoilt. */
  private static final double LANDING = 0.3;

  /** Headroom of such a GPU counts that much of work that is lost for certain. */
  private static final double LANDING_PRICE = 0.15;

  /** Replicas that are left over, of a whole GPU: where costs are alike, GPUs are filled up. */
  private static final double LEFTOVER_PRICE = 0.01;

  /** Loads nearer than this are the same load, rather than noise. */
  private static final double LOAD_STEP = 0.025;

  /** An unmeasured GPU is taken for half loaded: neither attractive nor shunned. */
  private static final double UNMEASURED_LOAD = 0.5;

  private Overload() {}

  static double cost(GpuView gpu, int share) {
    double said = gpu.measured() ? gpu.smLoad() : UNMEASURED_LOAD;
    double load = Math.round(Math.max(0, said) / LOAD_STEP) * LOAD_STEP;
    return cost(load, (double) share / gpu.replicas()) + LEFTOVER_PRICE * leftover(gpu, share);
  }

  private static double cost(double load, double ask) {
    double lost = 0;
    double spoilt = -Math.min(LANDING, load);
    for (int i = 0; i < USES.length; i++) {
      double expected = load + Math.min(1, ask * USES[i]);
      lost += USES_ODDS[i] * (Math.max(0, expected - 1) - Math.max(0, load - 1));
      spoilt += USES_ODDS[i] * Math.min(LANDING, expected);
    }
    return lost + LANDING_PRICE * spoilt;
  }

  private static double leftover(GpuView gpu, int share) {
    return (double) Math.max(0, gpu.freeReplicas() - share) / gpu.replicas();
  }
}
