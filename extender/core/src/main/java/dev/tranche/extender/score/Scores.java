package dev.tranche.extender.score;

import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placement;
import java.util.List;
import java.util.Map;

/** Scores of nodes whose GPUs were chosen. */
public final class Scores {
  /**
   * The highest score: kube-scheduler's extenders score 0 to 10. Equal headroom gets equal scores.
   */
  public static final int HEADROOM_MAX = 10;

  /** The score of a node of which nothing is known. */
  public static final int NEUTRAL = HEADROOM_MAX / 2;

  /**
   * More than all in-tree scores together, so that the node that packs best wins whatever the other
   * scores are. kube-scheduler multiplies extender scores without a range check.
   */
  public static final int PACKED_WINNER = 1_000;

  /** SM load decides; memory decides where loads are similar. */
  private static final double SM_WEIGHT = 0.7;

  /** The lost work, in GPUs, that scores 0. */
  private static final double COST_MAX = 0.25;

  /** Costs that differ by less than this count as equal. */
  private static final double EQUAL_COST_DIFFERENCE_MAX = 0.000_5;

  private Scores() {}

  @FunctionalInterface
  private interface OfShare {
    double value(GpuView gpu, int share);
  }

  /**
   * The score of a node that fits.
   *
   * @param headroom 0 to {@link #HEADROOM_MAX}; 0 under policy {@code packed}, which cannot score a
   *     node alone
   * @param cost in units of one GPU's work while idle GPUs are spared; otherwise 0
   */
  public record Score(int headroom, double cost) {
    public static final Score NONE = new Score(0, 0);
  }

  /**
   * @param gpus all GPUs of the node
   * @param placement the GPUs that the pod would get
   */
  public static Score of(Policy policy, List<GpuView> gpus, Placement placement) {
    return switch (policy) {
      case LOAD -> headroom(mean(gpus, placement, (gpu, share) -> loadHeadroom(gpu)));
      case SPREAD -> headroom(mean(gpus, placement, (gpu, share) -> gpu.freeRatio()));
      case LOAD_SPARING_IDLE -> {
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
   * Returns whether a node counts as equal to the best while idle GPUs are spared. Eleven scores
   * are too few to tell costs apart, and kube-scheduler's other scores do not consider GPUs.
   */
  public static boolean equalCost(double cost, double least) {
    return cost <= least + EQUAL_COST_DIFFERENCE_MAX;
  }

  /**
   * Returns the mean over the chosen GPUs. Plain loops, since it runs for thousands of nodes per
   * pod.
   */
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

  /** Returns the index of the highest score, the first among equals; -1 if there is none. */
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
