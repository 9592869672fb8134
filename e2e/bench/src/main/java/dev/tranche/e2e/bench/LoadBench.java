package dev.tranche.e2e.bench;

import dev.tranche.e2e.bench.load.Contestant;
import dev.tranche.e2e.bench.load.LoadContest;
import dev.tranche.e2e.bench.load.SimulatedUse;
import dev.tranche.e2e.bench.load.Workload;
import dev.tranche.e2e.install.Artifacts;
import java.util.ArrayList;
import java.util.List;

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
        LoadContest.workload(SEED, quick ? QUICK_PODS : PODS, quick ? QUICK_LIFE_S : LIFE_S);
    var bench = new LoadBench();
    bench.measure(artifacts, workload);
    return bench.figures;
  }

  private void measure(Artifacts artifacts, Workload workload) throws Exception {
    try (var contest = new LoadContest(artifacts)) {
      for (Contestant contestant : Contestant.values()) {
        add(contestant.toString(), contest.run(contestant, workload));
      }
    }
    add("oracle", LoadContest.oracle(workload));
  }

  private void add(String name, SimulatedUse use) {
    add(name + ".lost_work", 100 * use.lostRatio(), "%");
    add(name + ".memory_collisions", use.collisions(), "pods");
    add(name + ".allocated", 100 * use.allocatedRatio(), "%");
  }

  private void add(String name, double value, String unit) {
    var figure = new Figure("load." + name, value, unit);
    System.err.print(Figure.table(List.of(figure)));
    figures.add(figure);
  }
}
