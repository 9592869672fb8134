package dev.tranche.extender.score.packing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.tranche.api.AllowList;
import java.util.Arrays;
import java.util.Collections;
import org.junit.jupiter.api.Test;

final class LargePodReserveTest {
  private final Shapes shapes = new Shapes();
  private final LargePodReserve guard = new LargePodReserve(shapes);

  @Test
  void atLeast_none_isCertain() {
    assertThat(LargePodReserve.atLeast(0, 3, 0.5)).isEqualTo(1);
  }

  @Test
  void atLeast_ofStrengthOne_isGeometric() {
    assertThat(LargePodReserve.atLeast(1, 1, 0.25)).isCloseTo(0.25, within(1e-9));
    assertThat(LargePodReserve.atLeast(3, 1, 0.25)).isCloseTo(0.25 * 0.25 * 0.25, within(1e-9));
  }

  @Test
  void atLeast_manyMoreThanExpected_isImpossible() {
    assertThat(LargePodReserve.atLeast(10_000, 2, 0.5)).isZero();
  }

  @Test
  void cost_isThatOfTheLastRooms() {
    count(shape(1_000, 1), 3_000);
    count(shape(8_000, 8), 40);
    // About five more of the large ones would come.
    assertThat(costOfOneOf(3)).isPositive();
    assertThat(costOfOneOf(60)).isZero();
  }

  private static Shape shape(long cpuMilli, int count) {
    return new Shape(cpuMilli, 1_024, count, Shape.WHOLE_MILLI, AllowList.ANY);
  }

  private void count(Shape shape, int times) {
    for (int i = 0; i < times; i++) {
      shapes.count(shape + "-" + i, shape);
      guard.counted(shape);
    }
  }

  private double costOfOneOf(int capacities) {
    int[] gpus = new int[8];
    Arrays.fill(gpus, Shape.WHOLE_MILLI);
    var capacity = new FreeCapacity("Tesla T4", 128_000, 1 << 20, gpus);
    guard.price(Collections.nCopies(capacities, capacity));
    return guard.cost(capacity, capacity.after(shape(1_000, 1), Shape.WHOLE_MILLI));
  }
}
