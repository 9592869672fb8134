package dev.tranche.extender.placement;

import dev.tranche.extender.load.UsageDistribution;
import dev.tranche.extender.load.UsageDistribution.Part;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The possible SM loads of a GPU with their probabilities. The use of pods that have run for a
 * while is known. A new pod may turn out to be of any kind, a risk that a mean load does not show.
 * The newest pod counts with a probability for each kind. Other new pods count with their expected
 * use: weighing more of them does not reduce the lost work.
 *
 * @param chances their odds add up to 1
 * @param odds what one more pod may use
 */
public record LoadForecast(List<Chance> chances, UsageDistribution odds) {
  /**
   * @param load above 1 when more is wanted than the GPU has
   */
  public record Chance(double load, double odds) {}

  /**
   * A pod whose use is not known yet.
   *
   * @param requested its share of one GPU, 0 to 1
   * @param used its use so far
   * @param pending the probability that it has not begun its work yet, 0 to 1
   */
  public record Newcomer(double requested, double used, double pending) {
    /** Returns its use so far, plus the rest of its share weighted by {@code pending}. */
    double expected() {
      return used + pending * Math.max(0, requested - used);
    }
  }

  /** Returns the forecast of a GPU without new pods. */
  public static LoadForecast certain(double load, UsageDistribution odds) {
    return new LoadForecast(List.of(new Chance(load, 1)), odds);
  }

  /**
   * @param measuredUse the use of all other pods
   */
  public static LoadForecast of(
      double measuredUse, List<Newcomer> newcomers, UsageDistribution odds) {
    if (newcomers.isEmpty()) {
      return certain(measuredUse, odds);
    }
    List<Newcomer> newestFirst =
        newcomers.stream()
            .sorted(Comparator.comparingDouble(Newcomer::pending).reversed())
            .toList();
    double others =
        measuredUse + newestFirst.stream().skip(1).mapToDouble(Newcomer::expected).sum();
    return new LoadForecast(chances(others, newestFirst.getFirst(), odds), odds);
  }

  private static List<Chance> chances(double others, Newcomer newest, UsageDistribution odds) {
    var chances = new ArrayList<Chance>(odds.parts().size() + 1);
    chances.add(new Chance(others + newest.used(), 1 - newest.pending()));
    for (Part part : odds.parts()) {
      double use = Math.max(newest.used(), Math.min(1, newest.requested() * part.times()));
      chances.add(new Chance(others + use, newest.pending() * part.odds()));
    }
    chances.removeIf(chance -> chance.odds() <= 0);
    return chances;
  }
}
