package dev.tranche.nodeplugin.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.health.Health;
import org.junit.jupiter.api.Test;

class RepeatedFaultsTest {
  private final RepeatedFaults faults = new RepeatedFaults();

  private static HealthChange news(String uuid, String reason) {
    return new HealthChange(uuid, reason, "a sentence", Health.good());
  }

  @Test
  void stormOfErrors_isToldOnceAMinute_forEachGpu() {
    int told = 0;
    for (int second = 0; second < 120; second++) {
      told += faults.worthTelling(news("GPU-a", "GpuUnhealthy"), second * 1_000L) ? 1 : 0;
    }
    assertThat(told).isEqualTo(2);
    assertThat(faults.worthTelling(news("GPU-b", "GpuUnhealthy"), 1_000)).isTrue();
  }

  @Test
  void faultAfterItsEnd_isNews() {
    assertThat(faults.worthTelling(news("GPU-a", "GpuUnhealthy"), 0)).isTrue();
    assertThat(faults.worthTelling(news("GPU-a", "GpuHealthy"), 1)).isTrue();
    assertThat(faults.worthTelling(news("GPU-a", "GpuUnhealthy"), 2)).isTrue();
  }
}
