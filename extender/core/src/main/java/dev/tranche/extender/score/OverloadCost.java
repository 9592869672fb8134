package dev.tranche.extender.score;

import dev.tranche.extender.load.UsageDistribution;
import dev.tranche.extender.load.UsageDistribution.Part;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.LoadForecast;
import java.util.List;

/**
 * The expected cost of placing a share on a GPU, in units of one GPU's work; pure. Nobody knows
 * what a pod will use before it runs, and it never moves to another GPU. The cost therefore has two
 * parts. One is the work that is likely to be lost because the pods want more than the GPU has. The
 * other is what the placement takes from later pods. Headroom is worth something only together with
 * free replicas. Much of it in one place is worth more than a little everywhere, since some new
 * pods use a whole GPU.
 */
final class OverloadCost {
  /** The value of an empty GPU's headroom for new pods, in units of one GPU's work. */
  private static final double CAPACITY_PRICE = 0.05;

  /** Loads that differ by less than this count as equal; such differences are noise. */
  private static final double LOAD_STEP = 0.025;

  private OverloadCost() {}

  static double cost(GpuView gpu, int share) {
    double requested = (double) share / gpu.replicas();
    double free = gpu.freeRatio();
    UsageDistribution odds = gpu.loadForecast().odds();
    if (!gpu.measured()) {
      return cost(Policy.UNMEASURED_LOAD, free, requested, odds);
    }
    double cost = 0;
    List<LoadForecast.Chance> chances = gpu.loadForecast().chances();
    // By index: this runs for every GPU of every node, and an iterator is one more object.
    for (int i = 0; i < chances.size(); i++) {
      LoadForecast.Chance chance = chances.get(i);
      double load = Math.round(chance.load() / LOAD_STEP) * LOAD_STEP;
      cost += chance.odds() * cost(load, free, requested, odds);
    }
    return cost;
  }

  private static double cost(double load, double free, double requested, UsageDistribution odds) {
    double cost = CAPACITY_PRICE * capacityValue(load, free);
    List<Part> parts = odds.parts();
    for (int i = 0; i < parts.size(); i++) {
      Part part = parts.get(i);
      double expected = load + Math.min(1, requested * part.times());
      double lost = Math.max(0, expected - 1) - Math.max(0, load - 1);
      cost += part.odds() * (lost - CAPACITY_PRICE * capacityValue(expected, free - requested));
    }
    return cost;
  }

  /** Returns the value of a GPU for new pods; 1 when it is empty. */
  private static double capacityValue(double load, double free) {
    double headroom = Math.max(0, 1 - load);
    return headroom * headroom * headroom * Math.max(0, free);
  }
}
