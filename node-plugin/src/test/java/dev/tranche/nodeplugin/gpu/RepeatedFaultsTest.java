package dev.tranche.nodeplugin.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.health.Health;
import org.junit.jupiter.api.Test;

class RepeatedFaultsTest {
  private final RepeatedFaults faults = new RepeatedFaults();

  private static HealthChange change(String uuid, String reason) {
    return new HealthChange(uuid, reason, "a sentence", new Health.Healthy());
  }

  @Test
  void stormOfErrors_isReportedOnceAMinute_forEachGpu() {
    int reports = 0;
    for (int second = 0; second < 120; second++) {
      reports += faults.markReportedIfDue(change("GPU-a", "GpuUnhealthy"), second * 1_000L) ? 1 : 0;
    }
    assertThat(reports).isEqualTo(2);
    assertThat(faults.markReportedIfDue(change("GPU-b", "GpuUnhealthy"), 1_000)).isTrue();
  }

  @Test
  void faultAfterItsEnd_isReportedAgain() {
    assertThat(faults.markReportedIfDue(change("GPU-a", "GpuUnhealthy"), 0)).isTrue();
    assertThat(faults.markReportedIfDue(change("GPU-a", "GpuHealthy"), 1)).isTrue();
    assertThat(faults.markReportedIfDue(change("GPU-a", "GpuUnhealthy"), 2)).isTrue();
  }
}
