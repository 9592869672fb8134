package dev.tranche.e2e.bench.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

final class WorkloadTest {
  private final Workload workload = Workload.of(1, 2_000, 200, 10, 20);

  @Test
  void sameSeed_samePods() {
    assertThat(Workload.of(1, 2_000, 200, 10, 20)).isEqualTo(workload);
    assertThat(Workload.of(2, 2_000, 200, 10, 20)).isNotEqualTo(workload);
  }

  @Test
  void use_isAtMostOneGpu_andAsOftenTooMuchAsStated() {
    assertThat(workload.pods()).allMatch(p -> p.sm() > 0 && p.sm() <= 1);
    long over = workload.pods().stream().filter(p -> p.sm() > p.replicas() / 10.0).count();
    assertThat(over / 2_000.0).isCloseTo(0.2, within(0.03));
    assertThat(workload.pods()).allMatch(p -> p.memory() == p.sm());
  }

  @Test
  void arrivals_keepTheClusterAtItsLevel() {
    assertThat(workload.fullS()).isBetween(5.0, 25.0);
    SimulatedUse placed = Oracle.run(workload, 200, 10);
    assertThat(placed.allocatedRatio()).isCloseTo(0.7, within(0.01));
    assertThat(placed.lostRatio()).isLessThan(0.001);
  }
}
