package dev.tranche.nodeplugin.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class NvmlWatchdogTest {
  private long nowMs = 5_000;

  @Test
  void silence_beforeNvmlHasStarted_isLife() {
    NvmlWatchdog pulse = new NvmlWatchdog(1_000, () -> nowMs);
    nowMs += 1_000_000;
    assertThat(pulse.alive().ready()).isTrue();
  }

  @Test
  void start_thatHangs_isDeathAfterFiveMinutes() {
    NvmlWatchdog pulse = new NvmlWatchdog(1_000, () -> nowMs);
    pulse.start();
    nowMs += 300_000;
    assertThat(pulse.alive().ready()).isTrue();
    nowMs++;
    assertThat(pulse.silentMs()).isEqualTo(300_001);
    assertThat(pulse.alive().ready()).isFalse();
    assertThat(pulse.alive().sentences()).singleElement().asString().contains("300 s", "NVML");
  }

  @Test
  void silence_afterASlowStart_isDeathAfterAMinute() {
    NvmlWatchdog pulse = new NvmlWatchdog(1_000, () -> nowMs);
    pulse.start();
    nowMs += 100_000;
    pulse.beat();
    nowMs += 60_001;
    assertThat(pulse.alive().ready()).isFalse();
  }

  @Test
  void start_thatFailed_isWaitedForWithoutEnd() {
    NvmlWatchdog pulse = new NvmlWatchdog(1_000, () -> nowMs);
    pulse.start();
    pulse.rest();
    nowMs += 1_000_000;
    assertThat(pulse.silentMs()).isZero();
    assertThat(pulse.alive().ready()).isTrue();
  }

  @Test
  void silence_afterASample_isDeathAfterAMinute() {
    NvmlWatchdog pulse = new NvmlWatchdog(1_000, () -> nowMs);
    pulse.beat();
    nowMs += 60_000;
    assertThat(pulse.alive().ready()).isTrue();
    nowMs++;
    assertThat(pulse.alive().ready()).isFalse();
    assertThat(pulse.alive().sentences()).singleElement().asString().contains("60 s", "NVML");
    pulse.beat();
    assertThat(pulse.alive().ready()).isTrue();
  }

  @Test
  void slowSamples_areWaitedForTenTimes() {
    NvmlWatchdog pulse = new NvmlWatchdog(30_000, () -> nowMs);
    pulse.beat();
    nowMs += 300_000;
    assertThat(pulse.alive().ready()).isTrue();
    nowMs++;
    assertThat(pulse.alive().ready()).isFalse();
  }

  @Test
  void nvmlThatIsGone_isDeathAfterFiveMinutes_howeverOftenItIsTried() {
    NvmlWatchdog pulse = new NvmlWatchdog(1_000, () -> nowMs);
    pulse.beat();
    for (int i = 0; i < 60; i++) {
      pulse.gone();
      nowMs += 5_000;
      pulse.start();
    }
    assertThat(pulse.alive().ready()).isTrue();
    nowMs++;
    assertThat(pulse.alive().ready()).isFalse();
    assertThat(pulse.alive().sentences()).singleElement().asString().contains("worked before");
    pulse.beat();
    assertThat(pulse.alive().ready()).isTrue();
  }

  @Test
  void callThatTakesLong_isToldBeforeItIsDeath() {
    NvmlWatchdog pulse = new NvmlWatchdog(1_000, () -> nowMs);
    pulse.start();
    nowMs += 19_999;
    assertThat(pulse.slow()).isEmpty();
    nowMs++;
    assertThat(pulse.slow().orElseThrow()).contains("20 s", "nvidia-smi");
    assertThat(pulse.alive().ready()).isTrue();
  }
}
