package dev.tranche.process.loop;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class LoopLagTest {
  private long nowNs = Long.MAX_VALUE - 5;
  private final LoopLag lag = new LoopLag(nowNs);

  private void beatAfter(long ms) {
    nowNs += TimeUnit.MILLISECONDS.toNanos(ms);
    lag.beat(nowNs);
  }

  @Test
  void aLateBeat_isTheLag_forAMinuteOrTwo() {
    beatAfter(0);
    beatAfter(LoopLag.BEAT_MS);
    assertThat(lag.seconds()).isZero();
    beatAfter(LoopLag.BEAT_MS + 300);
    beatAfter(LoopLag.BEAT_MS + 100);
    assertThat(lag.seconds()).isEqualTo(0.3);
    for (int i = 0; i < 4_000; i++) {
      beatAfter(LoopLag.BEAT_MS);
    }
    assertThat(lag.seconds()).isEqualTo(0.3);
    for (int i = 0; i < 4_000; i++) {
      beatAfter(LoopLag.BEAT_MS);
    }
    assertThat(lag.seconds()).isZero();
  }

  @Test
  void anEarlyBeat_isNoLag() {
    beatAfter(0);
    beatAfter(1);
    assertThat(lag.seconds()).isZero();
  }
}
