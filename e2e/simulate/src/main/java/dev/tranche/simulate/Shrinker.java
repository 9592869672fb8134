package dev.tranche.simulate;

import dev.tranche.extender.invariant.Invariant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** Finds a shorter scenario that breaks the same invariant, by leaving out faults and pods. */
final class Shrinker {
  private final Invariant broken;
  private final Function<Scenario, Outcome> run;
  private int runsLeft;
  private Outcome best;

  private Shrinker(Outcome first, Invariant broken, Function<Scenario, Outcome> run, int runsMax) {
    this.best = first;
    this.broken = broken;
    this.run = run;
    this.runsLeft = runsMax;
  }

  /**
   * @param failed a run that broke an invariant
   * @param run runs a scenario
   * @param runsMax how many runs may be tried
   */
  static Outcome shrink(Outcome failed, Function<Scenario, Outcome> run, int runsMax) {
    var shrinker = new Shrinker(failed, failed.violation().orElseThrow().invariant(), run, runsMax);
    shrinker.withoutLater();
    int before;
    do {
      before = shrinker.size();
      shrinker.leaveOut(
          shrinker.best.scenario().faults(),
          faults -> shrinker.best.scenario().with(shrinker.best.scenario().pods(), faults));
      shrinker.leaveOut(
          shrinker.best.scenario().pods(),
          pods -> shrinker.best.scenario().with(pods, shrinker.best.scenario().faults()));
    } while (shrinker.size() < before && shrinker.runsLeft > 0);
    return shrinker.best;
  }

  private int size() {
    return best.scenario().faults().size() + best.scenario().pods().size();
  }

  /** What would have come after the violation is no part of it. */
  private void withoutLater() {
    long endMs = best.history().lines().getLast().atMs();
    Scenario scenario = best.scenario();
    breaks(
        scenario.with(
            scenario.pods().stream().filter(pod -> pod.createdMs() <= endMs).toList(),
            scenario.faults().stream().filter(fault -> fault.atMs() <= endMs).toList()));
  }

  /** Leaves out parts of a list, large ones first. */
  private <T> void leaveOut(List<T> all, Function<List<T>, Scenario> with) {
    List<T> kept = all;
    for (int size = Math.max(1, kept.size() / 2); size >= 1; size /= 2) {
      for (int from = 0; from < kept.size() && runsLeft > 0; ) {
        var fewer = new ArrayList<T>(kept.subList(0, from));
        fewer.addAll(kept.subList(Math.min(kept.size(), from + size), kept.size()));
        if (breaks(with.apply(fewer))) {
          kept = fewer;
        } else {
          from += size;
        }
      }
    }
  }

  private boolean breaks(Scenario scenario) {
    runsLeft--;
    Outcome outcome = run.apply(scenario);
    boolean same = outcome.violation().filter(found -> found.invariant() == broken).isPresent();
    if (same) {
      best = outcome;
    }
    return same;
  }
}
