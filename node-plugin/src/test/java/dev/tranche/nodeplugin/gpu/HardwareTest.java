package dev.tranche.nodeplugin.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.LimitRequest;
import dev.tranche.nodeplugin.limit.LimitSupport;
import dev.tranche.nodeplugin.limit.NodeLimits;
import dev.tranche.nodeplugin.limit.Toolkit;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class HardwareTest {
  private static final NodeLimits PROBED =
      new NodeLimits(true, false, true, Toolkit.UNKNOWN, Map.of("GPU-a", LimitSupport.WORKS));

  private static Hardware started(Hardware before, boolean limitsRequired) {
    return before.started(
        "615.71",
        HostNodes.NONE,
        limitsRequired ? NodeLimits.untried(false, true) : NodeLimits.NONE);
  }

  @Test
  void requiredLimits_areUntried_onlyAtTheFirstStart() {
    Hardware first = started(Hardware.NONE, true);
    assertThat(first.limits()).isEqualTo(NodeLimits.untried(false, true));
    assertThat(started(first, true).limits()).isEqualTo(NodeLimits.untried(false, true));
  }

  @Test
  void optingOut_isForbidden_beforeLimitsAreTried() {
    var strict = NodeLimits.untried(false, false);
    var limits = Hardware.NONE.started("615.71", HostNodes.NONE, strict).limits();
    assertThat(limits.optsOut(OptionalLong.of(LimitRequest.NONE))).isFalse();
  }

  /** Allocations go on until the new driver was tried. */
  @Test
  void anotherDriver_keepsTheLimits_untilTheyAreProbed() {
    Hardware before =
        new Hardware("610.1", HostNodes.NONE, new GpuLinkScores(Map.of("a", Map.of())), PROBED);
    Hardware now = started(before, true);
    assertThat(now.limits()).isEqualTo(PROBED);
    assertThat(now.driverVersion()).isEqualTo("615.71");
    assertThat(now.linkScores()).isEqualTo(GpuLinkScores.UNKNOWN);
  }

  @Test
  void limitsThatAreNotRequired_areNone() {
    assertThat(started(started(Hardware.NONE, false), false).limits()).isEqualTo(NodeLimits.NONE);
  }
}
