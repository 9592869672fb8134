package dev.tranche.extender.placement;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.load.UsageDistribution;
import dev.tranche.extender.placement.LoadForecast.Chance;
import dev.tranche.extender.placement.LoadForecast.Newcomer;
import java.util.List;
import org.junit.jupiter.api.Test;

class LoadForecastTest {
  private static final UsageDistribution HALF_OR_TWICE =
      new UsageDistribution(
          List.of(new UsageDistribution.Part(0.5, 0.25), new UsageDistribution.Part(2, 0.75)));

  @Test
  void withoutNewPods_theLoadIsCertain() {
    assertThat(LoadForecast.of(0.3, List.of(), HALF_OR_TWICE).chances())
        .containsExactly(new Chance(0.3, 1));
  }

  /** One half of the chance is that it works already, and uses what it uses. */
  @Test
  void newestPod_countsWithEachKindOfPod() {
    var newest = new Newcomer(0.25, 0.125, 0.5);
    assertThat(LoadForecast.of(0.25, List.of(newest), HALF_OR_TWICE).chances())
        .containsExactly(new Chance(0.375, 0.5), new Chance(0.375, 0.125), new Chance(0.75, 0.375));
  }

  @Test
  void newestPod_usesAtMostTheGpu_andAtLeastWhatItUses() {
    var newest = new Newcomer(0.75, 0.5, 1);
    assertThat(LoadForecast.of(0, List.of(newest), HALF_OR_TWICE).chances())
        .containsExactly(new Chance(0.5, 0.25), new Chance(1, 0.75));
  }

  @Test
  void otherNewPods_countWithTheirExpectedUse() {
    var newest = new Newcomer(0.5, 0, 1);
    var older = new Newcomer(0.5, 0.25, 0.5);
    // 0.25 in use, of the other 0.25 one half.
    assertThat(LoadForecast.of(0.125, List.of(older, newest), HALF_OR_TWICE).chances())
        .containsExactly(new Chance(0.75, 0.25), new Chance(1.5, 0.75));
  }

  @Test
  void podThatUsesMoreThanItsShare_isExpectedToGoOn() {
    assertThat(new Newcomer(0.25, 0.5, 0.5).expected()).isEqualTo(0.5);
    assertThat(new Newcomer(0.5, 0.25, 1).expected()).isEqualTo(0.5);
  }
}
