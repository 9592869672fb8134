package dev.tranche.process.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;

@DisabledIfSystemProperty(named = "tranche.seed", matches = ".*")
final class SeedsTest {
  @Test
  void half_isFixed_andBeginsWithTheKnownSeeds() {
    long[] seeds = Seeds.of(10, 44, 3);
    assertThat(seeds).startsWith(44, 3, 1, 2, 4).doesNotHaveDuplicates();
    assertThat(seeds.length % 10).isZero();
    assertThat(seeds).isEqualTo(Seeds.of(10, 44, 3));
  }
}
