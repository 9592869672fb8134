package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class ReportRateTest {
  private final ReportRate rate = new ReportRate(0);

  /** Twenty messages of 2.3 MB. */
  @Test
  void manyLargeReportsAtOnce_areTooFast() {
    int taken = 0;
    while (taken < 20 && rate.take(2_300_000, 0).isEmpty()) {
      taken++;
    }
    assertThat(taken).isEqualTo(14);
    assertThat(rate.take(2_300_000, 0).orElseThrow()).contains("8388608 bytes a second");
  }

  @Test
  void manySmallReportsAtOnce_areTooFast_andAnswersToABurstOfBindsAreNot() {
    for (int i = 0; i < ReportRate.MESSAGES_BURST; i++) {
      assertThat(rate.take(20_000, 0)).isEmpty();
    }
    assertThat(rate.take(20_000, 0)).isPresent();
    assertThat(rate.take(20_000, 1_000)).isEmpty();
  }

  @Test
  void steadyReports_areNeverTooFast_andNeedNotBeRemembered() {
    for (long nowMs = 0; nowMs < 3_600_000; nowMs += 1_000) {
      assertThat(rate.take(2_000_000, nowMs)).isEmpty();
    }
    assertThat(rate.isRefilled(3_600_000)).isTrue();
  }
}
