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
    use.start(pod(1, 0.8, 0.1), 0);
    use.start(pod(2, 0.7, 0.1), 0);
    use.start(pod(3, 0.5, 0.1), 1);
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
    use.start(pod(1, 1, 0.1), 0);
    use.start(pod(2, 1, 0.1), 0);
    use.advance(10);
    assertThat(use.lostRatio()).isZero();
  }

  @Test
  void podWithoutItsMemory_isACollision_andGetsWhatIsLeft() {
    use.start(pod(1, 0.1, 0.9), 0);
    use.start(pod(2, 0.1, 0.3), 0);
    assertThat(use.collisions()).isEqualTo(1);
    assertThat(use.memory(0)).isCloseTo(1, EXACT);
  }

  private static Pod pod(int number, double sm, double memory) {
    return new Pod(number, 3, sm, memory, 0, 1);
  }
}
