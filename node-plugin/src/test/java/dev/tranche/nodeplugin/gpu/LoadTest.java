package dev.tranche.nodeplugin.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.tranche.nodeplugin.nvml.GpuReading;
import org.junit.jupiter.api.Test;

class LoadTest {
  private static final long TOTAL = 1_000;

  private static GpuReading reading(int sm, long used) {
    return new GpuReading(used, sm, 0);
  }

  @Test
  void mean_startsAtTheFirstReading_andHalvesItsDistanceInAHalfLife() {
    Load first = Load.next(null, reading(80, 0), 0);
    assertThat(first.smMeanPercent()).isEqualTo(80);
    Load later = Load.next(first, reading(0, 0), Load.HALF_LIFE_MS);
    assertThat(later.smMeanPercent()).isCloseTo(40, within(0.01));
  }

  @Test
  void clockThatJumpsBack_leavesTheMean() {
    Load first = Load.next(null, reading(80, 0), 5_000);
    assertThat(Load.next(first, reading(0, 0), 1_000).smMeanPercent()).isEqualTo(80);
  }

  @Test
  void smallChanges_canWait_largeOnesCannot() {
    Load load = Load.next(null, reading(50, 500), 0);
    assertThat(Load.next(load, reading(54, 500), 1).differsFrom(load, TOTAL)).isFalse();
    assertThat(Load.next(load, reading(55, 500), 1).differsFrom(load, TOTAL)).isTrue();
    assertThat(Load.next(load, reading(50, 519), 1).differsFrom(load, TOTAL)).isFalse();
    assertThat(Load.next(load, reading(50, 520), 1).differsFrom(load, TOTAL)).isTrue();
  }
}
