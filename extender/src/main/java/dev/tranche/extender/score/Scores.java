package dev.tranche.extender.score;

import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placement;
import java.util.List;
import java.util.Map;

/** Scores of nodes whose GPUs were chosen. */
public final class Scores {
  /** kube-scheduler's extenders score 0 to 10; equal headroom scores alike. */
  public static final int HEADROOM_MAX = 10;

  /** For a node nothing is known of. */
  public static final int NEUTRAL = HEADROOM_MAX / 2;

  /**
   * More than all in-tree scores together, so that the one node that packs best is taken whatever
   * ties they leave; kube-scheduler multiplies extender scores unchecked.
   */
  public static final int PACKED_WINNER = 1_000;

  /** SM load decides, memory where loads are alike. */
  private static final double SM_WEIGHT = 0.7;

  /** So much work lost, in GPUs, scores 0. */
  private static final double COST_MAX = 0.25;

  /** Costs nearer than this are as good. */
  private static final double COST_ALIKE = 0.000_5;

  private Scores() {}

  @FunctionalInterface
  private interface OfShare {
    double value(GpuView gpu, int share);
  }

  /**
   * Of a node that fits.
   *
   * @param headroom 0 to {@link #HEADROOM_MAX}; 0 where pods are packed, since that is of no node
   *     alone
   * @param cost in GPUs' worth of work, where idle GPUs are spared; else 0
   */
  public record Score(int headroom, double cost) {
    public static final Score NONE = new Score(0, 0);
  }

  /**
   * @param gpus of the node
   * @param placement those that the pod would get
   */
  public static Score of(Policy policy, List<GpuView> gpus, Placement placement) {
    return switch (policy) {
      case LOAD -> headroom(mean(gpus, placement, (gpu, share) -> loadHeadroom(gpu)));
      case SPREAD -> headroom(mean(gpus, placement, (gpu, share) -> Policy.freeRatio(gpu)));
      case SPARING -> {
        double cost = mean(gpus, placement, OverloadCost::cost);
        yield new Score(tenths(1 - Math.clamp(cost / COST_MAX, 0, 1)), cost);
      }
      case PACKED -> Score.NONE;
    };
  }

  private static Score headroom(double mean) {
    return new Score(tenths(mean), 0);
  }

  private static int tenths(double part) {
    return (int) Math.round(part * HEADROOM_MAX);
  }

  private static double loadHeadroom(GpuView gpu) {
    double sm = gpu.measured() ? gpu.smHeadroom() : (double) NEUTRAL / HEADROOM_MAX;
    return SM_WEIGHT * sm + (1 - SM_WEIGHT) * gpu.memoryHeadroom();
  }

  /**
   * Whether a node counts as equal to the best while idle GPUs are spared. Eleven scores are too
   * few to tell costs apart, and kube-scheduler's other scores say nothing about GPUs.
   */
  public static boolean alike(double cost, double least) {
    return cost <= least + COST_ALIKE;
  }

  /** Over the chosen GPUs. Plain loops, since it runs for thousands of nodes per pod. */
  private static double mean(List<GpuView> gpus, Placement placement, OfShare of) {
    Map<String, Integer> held = placement.held();
    double sum = 0;
    int chosen = 0;
    for (GpuView gpu : gpus) {
      Integer share = held.get(gpu.uuid());
      if (share != null) {
        sum += of.value(gpu, share);
        chosen++;
      }
    }
    return chosen == 0 ? 0 : sum / chosen;
  }

  /** The index of the highest score, the first among equals; -1 of none. */
  public static int winner(int[] scores) {
    int best = -1;
    for (int i = 0; i < scores.length; i++) {
      if (best < 0 || scores[i] > scores[best]) {
        best = i;
      }
    }
    return best;
  }
}
