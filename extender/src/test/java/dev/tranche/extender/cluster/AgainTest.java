package dev.tranche.extender.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class AgainTest {
  private final Again again = new Again();

  @Test
  void watchesThatOpenAndEndAtOnce_areWaitedForLongerAndLonger() {
    assertThat(again.afterWatch(0)).isEqualTo(2 * Again.MS_MIN);
    assertThat(again.afterWatch(Again.LASTING_MS - 1)).isEqualTo(4 * Again.MS_MIN);
    assertThat(again.afterFailure()).isEqualTo(8 * Again.MS_MIN);
    for (int i = 0; i < 20; i++) {
      again.afterWatch(1);
    }
    assertThat(again.afterWatch(1)).isEqualTo(Again.MS_MAX);
  }

  @Test
  void watchThatHasLasted_isBegunAnewSoon() {
    again.afterFailure();
    again.afterFailure();
    assertThat(again.afterWatch(Again.LASTING_MS)).isEqualTo(Again.MS_MIN);
  }
}
