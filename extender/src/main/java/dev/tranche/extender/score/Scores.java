package dev.tranche.extender.score;

import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placement;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

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

  private Scores() {}

  /** A node that fits, with the GPUs it has and those that the pod would get. */
  public record Candidate(String node, List<GpuView> gpus, Placement placement) {}

  /** One score per candidate, in their order. */
  public static int[] of(Policy policy, List<Candidate> candidates) {
    return switch (policy) {
      case LOAD -> headroom(candidates, Scores::loadHeadroom);
      case SPREAD -> headroom(candidates, Policy::freeRatio);
      case PACKED ->
          throw new IllegalArgumentException("packed has one winner, which the Packer chooses");
    };
  }

  private static double loadHeadroom(GpuView gpu) {
    double sm = gpu.measured() ? gpu.smHeadroom() : (double) NEUTRAL / HEADROOM_MAX;
    return SM_WEIGHT * sm + (1 - SM_WEIGHT) * gpu.memoryHeadroom();
  }

  private static int[] headroom(List<Candidate> candidates, ToDoubleFunction<GpuView> headroom) {
    int[] scores = new int[candidates.size()];
    for (int i = 0; i < scores.length; i++) {
      scores[i] = (int) Math.round(mean(candidates.get(i), headroom) * HEADROOM_MAX);
    }
    return scores;
  }

  /** Over the chosen GPUs. Plain loops, since it runs for thousands of nodes per pod. */
  private static double mean(Candidate candidate, ToDoubleFunction<GpuView> headroom) {
    Map<String, Integer> held = candidate.placement().held();
    double sum = 0;
    int chosen = 0;
    for (GpuView gpu : candidate.gpus()) {
      if (held.containsKey(gpu.uuid())) {
        sum += headroom.applyAsDouble(gpu);
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
