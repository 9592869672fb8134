package dev.tranche.extender.client;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class BackoffTest {
  private final Backoff again = new Backoff();

  @Test
  void watchesThatOpenAndEndAtOnce_areWaitedForLongerAndLonger() {
    assertThat(again.afterWatch(0)).isEqualTo(2 * Backoff.MS_MIN);
    assertThat(again.afterWatch(Backoff.LASTING_MS - 1)).isEqualTo(4 * Backoff.MS_MIN);
    assertThat(again.afterFailure()).isEqualTo(8 * Backoff.MS_MIN);
    for (int i = 0; i < 20; i++) {
      again.afterWatch(1);
    }
    assertThat(again.afterWatch(1)).isEqualTo(Backoff.MS_MAX);
  }

  @Test
  void watchThatHasLasted_isBegunAnewSoon() {
    again.afterFailure();
    again.afterFailure();
    assertThat(again.afterWatch(Backoff.LASTING_MS)).isEqualTo(Backoff.MS_MIN);
  }
}
