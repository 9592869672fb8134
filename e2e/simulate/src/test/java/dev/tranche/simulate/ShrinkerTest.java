package dev.tranche.simulate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.invariant.Finding;
import dev.tranche.extender.invariant.Invariant;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ShrinkerTest {
  /** A run that fails if two faults and a pod are there. */
  private static Outcome run(Scenario scenario) {
    boolean breaks =
        scenario.pods().stream().anyMatch(pod -> pod.number() == 42)
            && scenario.faults().stream().anyMatch(f -> f.kind() == Fault.Kind.RECUT)
            && scenario.faults().stream().anyMatch(f -> f.kind() == Fault.Kind.GPU_LOST);
    var history = new History(new EventQueue());
    history.add("test", "ends");
    return new Outcome(
        scenario,
        breaks
            ? Optional.of(new Finding(Invariant.GPU_ALLOCATED_ONCE, "G", "broken"))
            : Optional.empty(),
        history,
        new Counts(),
        0,
        0,
        0);
  }

  @Test
  void whatDoesNotMatter_isLeftOut() {
    Outcome shortest = Shrinker.shrink(run(Scenario.of(7)), ShrinkerTest::run, 10_000);
    assertThat(shortest.violation()).isPresent();
    assertThat(shortest.scenario().pods()).extracting(PodPlan::number).containsExactly(42);
    assertThat(shortest.scenario().faults())
        .extracting(Fault::kind)
        .containsExactlyInAnyOrder(Fault.Kind.RECUT, Fault.Kind.GPU_LOST);
  }

  @Test
  void runs_areBounded() {
    var runs = new int[1];
    var _ =
        Shrinker.shrink(
            run(Scenario.of(7)),
            scenario -> {
              runs[0]++;
              return run(scenario);
            },
            25);
    assertThat(runs[0]).isLessThanOrEqualTo(25);
  }
}
