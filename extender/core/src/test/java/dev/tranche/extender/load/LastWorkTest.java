package dev.tranche.extender.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

final class LastWorkTest {
  private static final long GAP_MS_MAX = 15_000;
  private final LastWork work = new LastWork();

  private void reading(long atMs, Map<String, Double> smByPod) {
    double sm = smByPod.values().stream().mapToDouble(Double::doubleValue).sum();
    work.add(Readings.of(0, sm, smByPod.size(), atMs, Map.of(), smByPod), GAP_MS_MAX);
  }

  @Test
  void podThatNeverWorked_isIdleSinceTheFirstReading() {
    assertThat(work.idleSinceMs("ns/a")).isEqualTo(Long.MAX_VALUE);
    reading(1_000, Map.of("ns/b", 0.5));
    reading(6_000, Map.of("ns/b", 0.5));
    assertThat(work.idleSinceMs("ns/a")).isEqualTo(1_000);
    assertThat(work.idleSinceMs("ns/b")).isEqualTo(6_000);
  }

  @Test
  void workThatNobodyIsNamedFor_mayBeAnybodys() {
    reading(1_000, Map.of("ns/b", 0.0));
    work.add(Readings.of(0, 0.4, 1, 5_000), GAP_MS_MAX);
    work.add(Readings.of(0, 0, 1, 9_000), GAP_MS_MAX);
    assertThat(work.idleSinceMs("ns/a")).isEqualTo(5_000);
  }

  @Test
  void timeWithoutReadings_isNotKnownToBeIdle() {
    reading(1_000, Map.of());
    reading(1_000 + GAP_MS_MAX + 1, Map.of());
    assertThat(work.idleSinceMs("ns/a")).isEqualTo(1_000 + GAP_MS_MAX + 1);
  }

  @Test
  void podsOverTheBound_areForgotten_andNoIdleTimeGetsLonger() {
    reading(0, Map.of());
    for (int i = 0; i < 2 * LastWork.PODS_MAX; i++) {
      reading(1_000 * (i + 1L), Map.of("ns/p" + i, 1.0));
      assertThat(work.size()).isLessThanOrEqualTo(LastWork.PODS_MAX);
    }
    assertThat(work.idleSinceMs("ns/p0")).isGreaterThanOrEqualTo(1_000);
    assertThat(work.idleSinceMs("ns/never")).isEqualTo(1_000L * LastWork.PODS_MAX);
  }
}
