package dev.tranche.e2e.bench;

import dev.tranche.e2e.bench.load.Contestant;
import dev.tranche.e2e.bench.load.Hardware;
import dev.tranche.e2e.bench.load.LoadContest;
import dev.tranche.e2e.bench.load.SimulatedUse;
import dev.tranche.e2e.bench.load.Workload;
import dev.tranche.e2e.install.Artifacts;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Measures how much work is lost when pods use more or less of a GPU than they request. Compares
 * our policy {@code load} with those that look at allocations alone, through a stock
 * kube-scheduler.
 */
final class LoadBench {
  private static final long SEED = 42;
  private static final int PODS = 2_000;
  private static final double LIFE_S = 50;

  private static final int QUICK_PODS = 1_200;
  private static final double QUICK_LIFE_S = 36;

  private final List<Figure> figures = new ArrayList<>();

  private LoadBench() {}

  static List<Figure> run(Artifacts artifacts, boolean quick) throws Exception {
    Workload workload =
        LoadContest.workload(SEED, quick ? QUICK_PODS : PODS, quick ? QUICK_LIFE_S : LIFE_S, true);
    var bench = new LoadBench();
    bench.measure(artifacts, workload);
    return bench.figures;
  }

  private void measure(Artifacts artifacts, Workload workload) throws Exception {
    double best = Double.MAX_VALUE;
    double ours = 0;
    try (var contest = new LoadContest(artifacts)) {
      for (Contestant contestant : Contestant.values()) {
        LoadContest.Result result = contest.run(contestant, workload, Hardware.DEFAULT);
        add(contestant.toString(), result.use());
        add(contestant + ".foretold_ms", result.use().longestForetellableS() * 1e3, "ms");
        explain(contestant, result.use());
        double[] waits = result.waitsMs().stream().mapToDouble(ms -> ms).toArray();
        add(contestant + ".wait_ms", Arrays.stream(waits).average().orElse(0), "ms");
        add(contestant + ".wait_p99_ms", Figure.quantile(0.99, waits), "ms");
        add(contestant + ".unplaced", result.unplaced(), "pods");
        double lost = result.use().lostRatio();
        if (contestant == Contestant.OURS) {
          ours = lost;
        } else {
          best = Math.min(best, lost);
        }
      }
      for (Hardware.Gpm gpm : Hardware.Gpm.values()) {
        mps(contest, workload, gpm);
      }
    }
    add("oracle", LoadContest.oracle(workload));
    add("blind.lost_work", 100 * LoadContest.withoutForesight(workload).lostRatio(), "%");
    add("lost_work_of_best_other", 100 * ours / best, "%");
  }

  /** Our policy with GPUs under MPS, as far as they report what their hardware does. */
  private void mps(LoadContest contest, Workload workload, Hardware.Gpm gpm) throws Exception {
    var hardware = new Hardware(Hardware.Sharing.MPS, gpm);
    SimulatedUse use = contest.run(Contestant.OURS, workload, hardware).use();
    String name = "mps.gpm_" + gpm.name().toLowerCase(Locale.ROOT);
    add(name + ".lost_work", 100 * use.lostRatio(), "%");
    add(name + ".allocated", 100 * use.allocatedRatio(), "%");
  }

  /**
   * Prints the foretellable collisions of our policy only; the others measure nothing and have
   * many.
   */
  private static void explain(Contestant contestant, SimulatedUse use) {
    if (contestant == Contestant.OURS) {
      use.foretellableCollisions().forEach(System.err::println);
    }
  }

  private void add(String name, SimulatedUse use) {
    add(name + ".lost_work", 100 * use.lostRatio(), "%");
    add(name + ".memory_collisions", use.collisions(), "pods");
    add(name + ".foretellable_memory_collisions", use.foretellableCollisions().size(), "pods");
    add(name + ".allocated", 100 * use.allocatedRatio(), "%");
    add(name + ".demand", 100 * use.demandRatio(), "%");
  }

  private void add(String name, double value, String unit) {
    var figure = new Figure("load." + name, value, unit);
    System.err.print(Figure.table(List.of(figure)));
    figures.add(figure);
  }
}
