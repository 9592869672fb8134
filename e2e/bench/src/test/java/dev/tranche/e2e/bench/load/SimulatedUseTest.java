package dev.tranche.e2e.bench.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.tranche.e2e.bench.load.Workload.Pod;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

final class SimulatedUseTest {
  private static final Offset<Double> EXACT = within(1e-9);
  private final SimulatedUse use = new SimulatedUse(2, 10, 10);

  @Test
  void lost_isWhatIsWantedBeyondAGpu_ofAllThatIsWanted() {
    use.start(pod(1, 0.8, 0.1), 0, 0, 0);
    use.start(pod(2, 0.7, 0.1), 0, 0, 0);
    use.start(pod(3, 0.5, 0.1), 1, 0, 0);
    use.advance(20);
    assertThat(use.lostRatio()).isCloseTo(0.5 / 2, EXACT);
    assertThat(use.allocatedRatio()).isCloseTo(0.45, EXACT);
    assertThat(use.sm(0)).isEqualTo(1);
    use.end(pod(1, 0.8, 0.1), 0);
    use.advance(30);
    assertThat(use.lostRatio()).isCloseTo(0.5 / 3.2, EXACT);
  }

  @Test
  void work_beforeTheStart_doesNotCount() {
    use.start(pod(1, 1, 0.1), 0, 0, 0);
    use.start(pod(2, 1, 0.1), 0, 0, 0);
    use.advance(10);
    assertThat(use.lostRatio()).isZero();
  }

  @Test
  void collision_isForetellable_whenTheReadingByThenHadNoRoomForTheShare() {
    use.start(pod(1, 0.1, 0.9), 0, 0, 0);
    use.reported(0, 0.9, 1);
    use.start(pod(2, 0.1, 0.3), 0, 0.4, 0.5);
    assertThat(use.collisions()).isEqualTo(1);
    assertThat(use.foretellableCollisions()).isZero();
    use.start(pod(3, 0.1, 0.3), 0, 1.4, 1.5);
    assertThat(use.collisions()).isEqualTo(2);
    assertThat(use.foretellableCollisions()).isEqualTo(1);
    assertThat(use.memory(0)).isCloseTo(1, EXACT);
  }

  @Test
  void collision_isForetellable_onlyIfEachReadingThatMayHaveBeenTheLastSaidSo() {
    use.start(pod(1, 0.1, 0.6), 0, 0, 0);
    use.reported(0, 0.9, 1);
    use.reported(0, 0.6, 2);
    use.start(pod(2, 0.1, 0.5), 0, 1.9, 2.1);
    assertThat(use.collisions()).isEqualTo(1);
    assertThat(use.foretellableCollisions()).isZero();
    use.reported(0, 1, 3);
    use.start(pod(3, 0.1, 0.3), 0, 2.9, 3.1);
    assertThat(use.foretellableCollisions()).isZero();
    use.reported(0, 0.8, 4);
    use.start(pod(4, 0.1, 0.3), 0, 3.9, 4.1);
    assertThat(use.foretellableCollisions()).isEqualTo(1);
  }

  @Test
  void reading_countsFromWhenItWasFirstReported_howeverLongAgo() {
    use.start(pod(1, 0.1, 0.9), 0, 0, 0);
    use.reported(0, 0.5, 1);
    for (int second = 2; second < 60; second++) {
      use.reported(0, 0.9, second);
    }
    use.start(pod(2, 0.1, 0.3), 0, 60, 60);
    assertThat(use.foretellableCollisions()).isEqualTo(1);
  }

  private static Pod pod(int number, double sm, double memory) {
    return new Pod(number, 3, sm, memory, 0, 1);
  }
}
