package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class RequestRateTest {
  private static final int MOST = 10;

  private final RequestRate rate = new RequestRate("questions", MOST);

  private int admitted(long nowMs) {
    int admitted = 0;
    while (rate.refusal(nowMs).isEmpty()) {
      admitted++;
    }
    return admitted;
  }

  @Test
  void rate_isOfEachSecond() {
    assertThat(admitted(1_000)).isEqualTo(MOST);
    assertThat(rate.refusal(1_999).orElseThrow().detail())
        .isEqualTo("at most 10 questions a second are answered; retry in a second");
    assertThat(admitted(2_000)).isEqualTo(MOST);
  }
}
