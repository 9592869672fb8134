package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.readapi.row.View;
import org.junit.jupiter.api.Test;

final class ViewRateTest {
  private static final int MOST = 10;

  private final ViewRate rate = new ViewRate("questions", MOST);

  private int admitted(View view, long nowMs) {
    int admitted = 0;
    while (rate.refusal(view, nowMs).isEmpty()) {
      admitted++;
    }
    return admitted;
  }

  @Test
  void rate_isOfEachSecond() {
    assertThat(admitted(View.ALL, 1_000)).isEqualTo(MOST);
    assertThat(admitted(View.ALL, 1_999)).isZero();
    assertThat(admitted(View.ALL, 2_000)).isEqualTo(MOST);
  }

  @Test
  void namespaces_leaveHalfForAdministrators() {
    assertThat(admitted(View.of("a"), 1_000)).isEqualTo(MOST / 2);
    assertThat(rate.refusal(View.of("b"), 1_000).orElseThrow().detail())
        .isEqualTo(
            "at most 10 questions a second are answered, half of them for single namespaces; retry"
                + " in a second");
    assertThat(admitted(View.ALL, 1_000)).isEqualTo(MOST / 2);
    assertThat(admitted(View.of("a"), 2_000)).isEqualTo(MOST / 2);
  }
}
