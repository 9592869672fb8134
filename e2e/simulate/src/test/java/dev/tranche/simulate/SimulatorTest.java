package dev.tranche.simulate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.fuzz.Seeds;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class SimulatorTest {
  private static final int SEEDS = 10;

  /** It finds a known bug that has a patch. */
  private static final long KNOWN = 6;

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
  void seeds_breakNoInvariant() {
    var counts = new Counts();
    long[] seeds = Seeds.of(SEEDS, KNOWN);
    LongStream.of(seeds)
        .mapToObj(SimulatorTest::run)
        .forEach(
            outcome -> {
              assertThat(outcome.violation())
                  .as(() -> "seed " + outcome.scenario().seed() + "\n" + Timeline.of(outcome))
                  .isEmpty();
              assertThat(outcome.bound()).isGreaterThan(100);
              counts.add(outcome.counts());
            });
    // Clusters are too small for all pods, and large enough for most. One seed alone may lack a
    // branch.
    long enough = seeds.length / SEEDS;
    assertThat(counts.of(Branch.LONG_WAIT)).isGreaterThanOrEqualTo(enough);
    assertThat(counts.of(Branch.CHANGE_OF_LEADER)).isGreaterThanOrEqualTo(enough);
    assertThat(counts.of(Branch.PREEMPTION)).isGreaterThanOrEqualTo(enough);
    assertThat(counts.of(Branch.UNKNOWN_BIND)).isGreaterThanOrEqualTo(enough);
  }

  @Test
  void eachKindOfFault_isInEachScenarioWithFaults() {
    LongStream.rangeClosed(1, 50)
        .mapToObj(Scenario::of)
        .filter(scenario -> !scenario.faultless())
        .forEach(
            scenario ->
                assertThat(scenario.faults())
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
