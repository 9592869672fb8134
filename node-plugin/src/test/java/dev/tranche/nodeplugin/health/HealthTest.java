package dev.tranche.nodeplugin.health;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class HealthTest {
  private static final long QUIET_MS = 1_000;

  @Test
  void fault_isOver_afterQuietTimeWithAnAnswer() {
    Health faulty = new Health.Healthy().afterFault(Fault.ofXid(94), 0);
    assertThat(faulty.afterAnswer(QUIET_MS - 1, QUIET_MS).healthy()).isFalse();
    Health again = faulty.afterFault(Fault.ofXid(94), 500);
    assertThat(again.afterAnswer(QUIET_MS, QUIET_MS).healthy()).isFalse();
    assertThat(again.afterAnswer(500 + QUIET_MS, QUIET_MS).healthy()).isTrue();
  }

  @Test
  void faultThatNeedsAReset_isOver_onlyWhenTheGpuWasGoneAndReturned() {
    Health faulty = new Health.Healthy().afterFault(Fault.ofXid(79), 0);
    assertThat(faulty.afterAnswer(1_000_000, QUIET_MS)).isEqualTo(faulty);
    assertThat(faulty.afterFailedProbe("timeout").afterAnswer(1_000_000, QUIET_MS))
        .isEqualTo(faulty);
    assertThat(faulty.afterLoss("lost").afterAnswer(1, QUIET_MS).healthy()).isTrue();
  }

  @Test
  void lesserFault_doesNotHideOneThatNeedsAReset() {
    Health faulty =
        new Health.Healthy().afterFault(Fault.ofXid(48), 0).afterFault(Fault.ofXid(94), 1);
    assertThat(faulty.reason()).contains("XID 48").contains("nvidia-smi -r");
    assertThat(
            new Health.Healthy()
                .afterFault(Fault.ofXid(94), 0)
                .afterFault(Fault.ofXid(48), 1)
                .reason())
        .contains("XID 48");
  }

  @Test
  void lostGpu_recoversByAnAnswer() {
    Health lost = new Health.Healthy().afterLoss("it is gone");
    assertThat(lost.reason()).isEqualTo("it is gone");
    assertThat(lost.afterAnswer(0, QUIET_MS).healthy()).isTrue();
  }
}
