package dev.tranche.extender.placement;

import dev.tranche.extender.load.UsageDistribution;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * What the SM load of a GPU may turn out to be. The use of pods that have run for a while is known.
 * A new pod may turn out to be any of the kinds that there are, so two of them on one GPU are a
 * risk that no mean load shows.
 *
 * @param chances together 1
 * @param odds what one more pod may use
 */
public record LoadForecast(List<Chance> chances, UsageDistribution odds) {
  /** Beyond so many newcomers on one GPU, each is taken to use what is expected of it. */
  private static final int WEIGHED_MAX = 2;

  /**
   * @param load above 1 when more is wanted than the GPU has
   */
  public record Chance(double load, double odds) {}

  /**
   * A pod that is not known for long yet.
   *
   * @param asked of one GPU, 0 to 1
   * @param used so far
   * @param pending how likely it is that it has not begun yet, 0 to 1
   */
  public record Newcomer(double asked, double used, double pending) {
    /** By its share, as far as it may still begin. */
    double expected() {
      return used + pending * Math.max(0, asked - used);
    }
  }

  public LoadForecast {
    chances = List.copyOf(chances);
  }

  /** Nobody is new. */
  public static LoadForecast certain(double load, UsageDistribution odds) {
    return new LoadForecast(List.of(new Chance(load, 1)), odds);
  }

  /**
   * @param settled what the others use
   */
  public static LoadForecast of(double settled, List<Newcomer> newcomers, UsageDistribution odds) {
    List<Chance> chances = List.of(new Chance(settled, 1));
    List<Newcomer> newestFirst =
        newcomers.stream()
            .sorted(Comparator.comparingDouble(Newcomer::pending).reversed())
            .toList();
    for (int i = 0; i < newestFirst.size(); i++) {
      Newcomer newcomer = newestFirst.get(i);
      List<Chance> uses =
          i < WEIGHED_MAX ? uses(newcomer, odds) : List.of(new Chance(newcomer.expected(), 1));
      chances = sums(chances, uses);
    }
    return new LoadForecast(chances, odds);
  }

  private static List<Chance> uses(Newcomer newcomer, UsageDistribution odds) {
    var uses = new ArrayList<Chance>(odds.parts().size() + 1);
    uses.add(new Chance(newcomer.used(), 1 - newcomer.pending()));
    for (UsageDistribution.Part part : odds.parts()) {
      double use = Math.max(newcomer.used(), Math.min(1, newcomer.asked() * part.times()));
      uses.add(new Chance(use, newcomer.pending() * part.odds()));
    }
    uses.removeIf(use -> use.odds() <= 0);
    return uses;
  }

  private static List<Chance> sums(List<Chance> some, List<Chance> others) {
    var sums = new ArrayList<Chance>(some.size() * others.size());
    for (Chance a : some) {
      for (Chance b : others) {
        sums.add(new Chance(a.load() + b.load(), a.odds() * b.odds()));
      }
    }
    return sums;
  }
}
