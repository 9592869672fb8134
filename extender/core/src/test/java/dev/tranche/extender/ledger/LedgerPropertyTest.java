package dev.tranche.extender.ledger;

import dev.tranche.process.fuzz.Seeds;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Clusters at random: pods are placed by what the Ledger says is free, bound, admitted, reported,
 * ended and deleted; events come late and twice, streams break, plugins restart, leaders die and
 * clocks jump. A failure names its seed.
 */
@Tag("slow")
final class LedgerPropertyTest {
  private static final int RUNS = 20;
  private static final int STEPS = 150;

  /** No kubelet is ever asked for more than its GPU has, and every pod finds its assignment. */
  @Test
  void anyInterleaving_neverOverCapacityNeverALeak() {
    for (long seed : Seeds.of(RUNS)) {
      run(seed, false);
    }
  }

  /**
   * Others bind pods too, kubelets run static ones and give other GPUs: in the end we know all the
   * same.
   */
  @Test
  void strangersOnTheNodes_areCountedWhereTheyAre() {
    for (long seed : Seeds.of(RUNS)) {
      run(seed, true);
    }
  }

  private static void run(long seed, boolean strangers) {
    var world = new World(seed, strangers);
    for (int step = 0; step < STEPS; step++) {
      world.act();
    }
    world.settle();
    world.checks.equalsTheReadBack();
    world.endAll();
    world.checks.nothingIsLeft();
  }
}
