package dev.tranche.extender.score;

import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placement;
import java.util.List;
import java.util.Map;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

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

  /** A node that fits, with the GPUs it has and those that the pod would get. */
  public record Candidate(String node, List<GpuView> gpus, Placement placement) {}

  /** One score per candidate, in their order. */
  public static int[] of(Policy policy, List<Candidate> candidates) {
    return switch (policy) {
      case LOAD -> headroom(candidates, (gpu, share) -> loadHeadroom(gpu));
      case SPARING -> headroom(candidates, Scores::safety);
      case SPREAD -> headroom(candidates, (gpu, share) -> Policy.freeRatio(gpu));
      case PACKED ->
          throw new IllegalArgumentException("packed has one winner, which the Packer chooses");
    };
  }

  private static double loadHeadroom(GpuView gpu) {
    double sm = gpu.measured() ? gpu.smHeadroom() : (double) NEUTRAL / HEADROOM_MAX;
    return SM_WEIGHT * sm + (1 - SM_WEIGHT) * gpu.memoryHeadroom();
  }

  /** 0 to 1. */
  private static double safety(GpuView gpu, int share) {
    return 1 - Math.clamp(Overload.cost(gpu, share) / COST_MAX, 0, 1);
  }

  /**
   * Which candidates are as good as the best while idle GPUs are spared: eleven scores are too few
   * to tell costs apart, and what else kube-scheduler scores nodes by says nothing of GPUs.
   *
   * @return their indexes, at least one of any
   */
  public static List<Integer> leastCost(List<Candidate> candidates) {
    double[] costs = candidates.stream().mapToDouble(c -> mean(c, Overload::cost)).toArray();
    double limit = DoubleStream.of(costs).min().orElse(0) + COST_ALIKE;
    return IntStream.range(0, costs.length).filter(i -> costs[i] <= limit).boxed().toList();
  }

  private static int[] headroom(List<Candidate> candidates, OfShare headroom) {
    int[] scores = new int[candidates.size()];
    for (int i = 0; i < scores.length; i++) {
      scores[i] = (int) Math.round(mean(candidates.get(i), headroom) * HEADROOM_MAX);
    }
    return scores;
  }

  /** Over the chosen GPUs. Plain loops, since it runs for thousands of nodes per pod. */
  private static double mean(Candidate candidate, OfShare of) {
    Map<String, Integer> held = candidate.placement().held();
    double sum = 0;
    int chosen = 0;
    for (GpuView gpu : candidate.gpus()) {
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
