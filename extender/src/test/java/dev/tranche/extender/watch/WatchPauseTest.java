package dev.tranche.extender.watch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Backoff;
import org.junit.jupiter.api.Test;

final class WatchPauseTest {
  private final Backoff again = new Backoff(2 * Reflector.SOON_MS, Reflector.PAUSE_MS_MAX);

  @Test
  void watchesThatOpenAndEndAtOnce_areWaitedForLongerAndLonger() {
    assertThat(Reflector.afterWatch(again, 0)).isEqualTo(2 * Reflector.SOON_MS);
    assertThat(Reflector.afterWatch(again, Reflector.LASTING_MS - 1))
        .isEqualTo(4 * Reflector.SOON_MS);
    assertThat(again.next()).isEqualTo(8 * Reflector.SOON_MS);
    for (int i = 0; i < 20; i++) {
      Reflector.afterWatch(again, 1);
    }
    assertThat(Reflector.afterWatch(again, 1)).isEqualTo(Reflector.PAUSE_MS_MAX);
  }

  @Test
  void watchThatHasLasted_isBegunAnewSoon() {
    again.next();
    again.next();
    assertThat(Reflector.afterWatch(again, Reflector.LASTING_MS)).isEqualTo(Reflector.SOON_MS);
  }
}
