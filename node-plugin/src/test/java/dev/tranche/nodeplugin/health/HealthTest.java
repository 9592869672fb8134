package dev.tranche.nodeplugin.health;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class HealthTest {
  private static final long QUIET_MS = 1_000;

  @Test
  void fault_isOver_afterQuietTimeWithAnAnswer() {
    Health faulty = Health.good().fault(Fault.ofXid(94), 0);
    assertThat(faulty.answered(QUIET_MS - 1, QUIET_MS).healthy()).isFalse();
    Health again = faulty.fault(Fault.ofXid(94), 500);
    assertThat(again.answered(QUIET_MS, QUIET_MS).healthy()).isFalse();
    assertThat(again.answered(500 + QUIET_MS, QUIET_MS).healthy()).isTrue();
  }

  @Test
  void faultThatNeedsAReset_isOver_onlyWhenTheGpuWasGoneAndReturned() {
    Health faulty = Health.good().fault(Fault.ofXid(79), 0);
    assertThat(faulty.answered(1_000_000, QUIET_MS)).isEqualTo(faulty);
    assertThat(faulty.silent("timeout").answered(1_000_000, QUIET_MS)).isEqualTo(faulty);
    assertThat(faulty.gone("lost").answered(1, QUIET_MS).healthy()).isTrue();
  }

  @Test
  void lesserFault_doesNotHideOneThatNeedsAReset() {
    Health faulty = Health.good().fault(Fault.ofXid(48), 0).fault(Fault.ofXid(94), 1);
    assertThat(faulty.reason()).contains("XID 48").contains("nvidia-smi -r");
    assertThat(Health.good().fault(Fault.ofXid(94), 0).fault(Fault.ofXid(48), 1).reason())
        .contains("XID 48");
  }

  @Test
  void lostGpu_recoversByAnAnswer() {
    Health lost = Health.good().gone("it is gone");
    assertThat(lost.reason()).isEqualTo("it is gone");
    assertThat(lost.answered(0, QUIET_MS).healthy()).isTrue();
  }
}
