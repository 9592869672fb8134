package dev.tranche.extender.score.packing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

final class GuardTest {
  @Test
  void atLeast_none_isCertain() {
    assertThat(Guard.atLeast(0, 3, 0.5)).isEqualTo(1);
  }

  @Test
  void atLeast_ofStrengthOne_isGeometric() {
    assertThat(Guard.atLeast(1, 1, 0.25)).isCloseTo(0.25, within(1e-9));
    assertThat(Guard.atLeast(3, 1, 0.25)).isCloseTo(0.25 * 0.25 * 0.25, within(1e-9));
  }

  @Test
  void atLeast_manyMoreThanExpected_isImpossible() {
    assertThat(Guard.atLeast(10_000, 2, 0.5)).isZero();
  }
}
