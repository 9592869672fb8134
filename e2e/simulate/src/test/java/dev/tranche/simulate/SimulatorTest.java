package dev.tranche.simulate;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class SimulatorTest {
  /** About as many as a core runs in two minutes. */
  private static final int SEEDS = 100;

  private static Outcome run(long seed) {
    return new World(Scenario.of(seed)).run();
  }

  @Test
  void aSeed_reproducesToTheByte() {
    Outcome first = run(1);
    Outcome again = run(1);
    assertThat(again.history().lines()).isEqualTo(first.history().lines()).hasSizeGreaterThan(500);
    assertThat(again.history().hash()).isEqualTo(first.history().hash());
  }

  @Test
  void fixedSeeds_breakNoInvariant() {
    var counts = new Counts();
    LongStream.rangeClosed(2, SEEDS)
        .mapToObj(SimulatorTest::run)
        .forEach(
            outcome -> {
              assertThat(outcome.violation())
                  .as(() -> "seed " + outcome.scenario().seed() + "\n" + Timeline.of(outcome))
                  .isEmpty();
              assertThat(outcome.bound()).isGreaterThan(100);
              counts.add(outcome.counts());
            });
    // Clusters are too small for all pods, and large enough for most.
    assertThat(counts.of(Branch.LONG_WAIT)).isPositive();
    assertThat(counts.of(Branch.CHANGE_OF_LEADER)).isPositive();
    assertThat(counts.of(Branch.PREEMPTION)).isPositive();
    assertThat(counts.of(Branch.UNKNOWN_BIND)).isPositive();
  }

  @Test
  void eachKindOfFault_isInEachScenario() {
    LongStream.rangeClosed(1, 50)
        .forEach(
            seed ->
                assertThat(Scenario.of(seed).faults())
                    .extracting(Fault::kind)
                    .contains(Fault.Kind.values()));
  }

  @Test
  void allFaults_areOverBeforeItIsCalm() {
    LongStream.rangeClosed(1, 200)
        .mapToObj(Scenario::of)
        .forEach(
            scenario ->
                assertThat(scenario.faults())
                    .allMatch(fault -> fault.atMs() + 2 * fault.forMs() < scenario.calmMs()));
  }
}
