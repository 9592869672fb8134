package dev.tranche.extender.score;

import dev.tranche.extender.load.UsageDistribution;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.LoadForecast;
import java.util.List;

/**
 * What it costs to put a share on a GPU, in GPUs' worth of work; pure. Nobody knows what a pod is
 * going to use before it runs, and where it is put it stays. So the cost has two parts. One is the
 * work that is likely to be lost because the pods want more than the GPU has. The other is what the
 * placement takes from later pods. Headroom is worth something only together with free replicas,
 * and much of it in one place is worth more than a little everywhere, since some new pod turns out
 * to want all of a GPU.
 */
final class OverloadCost {
  /** An empty GPU's headroom for newcomers counts that much of work that is lost for certain. */
  private static final double ROOM_PRICE = 0.05;

  /** Loads nearer than this are the same load, rather than noise. */
  private static final double LOAD_STEP = 0.025;

  /** An unmeasured GPU is taken for half loaded: neither attractive nor shunned. */
  private static final double UNMEASURED_LOAD = 0.5;

  private OverloadCost() {}

  static double cost(GpuView gpu, int share) {
    double ask = (double) share / gpu.replicas();
    double free = (double) gpu.freeReplicas() / gpu.replicas();
    UsageDistribution odds = gpu.outlook().odds();
    if (!gpu.measured()) {
      return cost(UNMEASURED_LOAD, free, ask, odds);
    }
    double cost = 0;
    List<LoadForecast.Chance> chances = gpu.outlook().chances();
    // By index: this is asked of every GPU of every node, and an iterator is one more object.
    for (int i = 0; i < chances.size(); i++) {
      LoadForecast.Chance chance = chances.get(i);
      double load = Math.round(chance.load() / LOAD_STEP) * LOAD_STEP;
      cost += chance.odds() * cost(load, free, ask, odds);
    }
    return cost;
  }

  private static double cost(double load, double free, double ask, UsageDistribution odds) {
    double cost = ROOM_PRICE * room(load, free);
    List<UsageDistribution.Part> parts = odds.parts();
    for (int i = 0; i < parts.size(); i++) {
      UsageDistribution.Part part = parts.get(i);
      double expected = load + Math.min(1, ask * part.times());
      double lost = Math.max(0, expected - 1) - Math.max(0, load - 1);
      cost += part.odds() * (lost - ROOM_PRICE * room(expected, free - ask));
    }
    return cost;
  }

  /** What a GPU is worth to newcomers; 1 when it is empty. */
  private static double room(double load, double free) {
    double headroom = Math.max(0, 1 - load);
    return headroom * headroom * headroom * Math.max(0, free);
  }
}
