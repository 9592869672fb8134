package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.gpu.GpuLinkScores;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.limit.NodeLimits;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class HardwareTest {
  private static final NodeLimits REQUIRED = new NodeLimits(true, true, Optional.empty());

  /** Allocations go on until the new driver's limits are read. */
  @Test
  void anotherDriver_keepsTheLimits_untilTheyAreRead() {
    Hardware before =
        new Hardware(
            "610.1",
            HostNodes.NONE,
            new GpuLinkScores(Map.of(List.of("a", "b"), 100)),
            REQUIRED,
            List.of());
    Hardware now = before.started("615.71", HostNodes.NONE, GpuLinkScores.UNKNOWN);
    assertThat(now.limits()).isEqualTo(REQUIRED);
    assertThat(now.driverVersion()).isEqualTo("615.71");
    assertThat(now.linkScores()).isEqualTo(GpuLinkScores.UNKNOWN);
  }
}
