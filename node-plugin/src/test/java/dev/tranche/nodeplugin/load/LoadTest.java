package dev.tranche.nodeplugin.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.tranche.nodeplugin.nvml.Gpm;
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

  private static GpuReading active(double sm, double dram) {
    return new GpuReading(0, 100, 1, new Gpm.Values(100, sm, 0, 0, dram));
  }

  @Test
  void activity_isTheMeanOfTheLargerOfSmsAndMemory() {
    Load first = Load.next(null, active(20, 80), 0);
    assertThat(first.activityMeanPercent()).isEqualTo(80);
    Load later = Load.next(first, active(40, 0), Load.HALF_LIFE_MS);
    assertThat(later.activityMeanPercent()).isCloseTo(60, within(0.01));
    assertThat(later.smMeanPercent()).isEqualTo(100);
  }

  @Test
  void activityWithoutOneOfBoth_isNotKnown_andStartsAgainFromTheNextReading() {
    Load first = Load.next(null, active(20, 80), 0);
    Load partly = Load.next(first, active(20, Double.NaN), 1_000);
    assertThat(partly.activityMeanPercent()).isNaN();
    assertThat(Load.next(first, reading(100, 0), 1_000).activityMeanPercent()).isNaN();
    assertThat(Load.next(partly, active(20, 30), 2_000).activityMeanPercent()).isEqualTo(30);
    assertThat(Load.next(null, reading(100, 0), 0).activityMeanPercent()).isNaN();
  }

  @Test
  void activityThatChangesOrIsLost_isReportedAtOnce() {
    Load load = Load.next(null, active(50, 0), 0);
    assertThat(Load.next(null, active(54, 0), 1).differsFrom(load, TOTAL)).isFalse();
    assertThat(Load.next(null, active(55, 0), 1).differsFrom(load, TOTAL)).isTrue();
    assertThat(Load.next(null, active(50, Double.NaN), 1).differsFrom(load, TOTAL)).isTrue();
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
