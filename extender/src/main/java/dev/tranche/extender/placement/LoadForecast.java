package dev.tranche.extender.placement;

import dev.tranche.extender.load.UsageDistribution;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * What the SM load of a GPU may turn out to be. The use of pods that have run for a while is known.
 * A new pod may turn out to be any of the kinds that there are, a risk that no mean load shows. The
 * newest is weighed so; other new ones are taken to use what is expected of them, since to weigh
 * more of them saves no work.
 *
 * @param chances together 1
 * @param odds what one more pod may use
 */
public record LoadForecast(List<Chance> chances, UsageDistribution odds) {
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
    if (newcomers.isEmpty()) {
      return certain(settled, odds);
    }
    List<Newcomer> newestFirst =
        newcomers.stream()
            .sorted(Comparator.comparingDouble(Newcomer::pending).reversed())
            .toList();
    double others = settled + newestFirst.stream().skip(1).mapToDouble(Newcomer::expected).sum();
    return new LoadForecast(chances(others, newestFirst.getFirst(), odds), odds);
  }

  private static List<Chance> chances(double others, Newcomer newest, UsageDistribution odds) {
    var chances = new ArrayList<Chance>(odds.parts().size() + 1);
    chances.add(new Chance(others + newest.used(), 1 - newest.pending()));
    for (UsageDistribution.Part part : odds.parts()) {
      double use = Math.max(newest.used(), Math.min(1, newest.asked() * part.times()));
      chances.add(new Chance(others + use, newest.pending() * part.odds()));
    }
    chances.removeIf(chance -> chance.odds() <= 0);
    return chances;
  }
}
