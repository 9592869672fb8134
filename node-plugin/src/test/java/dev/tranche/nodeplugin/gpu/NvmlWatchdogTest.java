package dev.tranche.nodeplugin.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class NvmlWatchdogTest {
  private long nowMs = 5_000;

  @Test
  void silence_beforeNvmlHasStarted_isLife() {
    NvmlWatchdog watchdog = new NvmlWatchdog(1_000, () -> nowMs);
    nowMs += 1_000_000;
    assertThat(watchdog.failure()).isEmpty();
  }

  @Test
  void start_thatHangs_isDeathAfterFiveMinutes() {
    NvmlWatchdog watchdog = new NvmlWatchdog(1_000, () -> nowMs);
    watchdog.start();
    nowMs += 300_000;
    assertThat(watchdog.failure()).isEmpty();
    nowMs++;
    assertThat(watchdog.failure().orElseThrow()).contains("300 s", "NVML");
  }

  @Test
  void silence_afterASlowStart_isDeathAfterAMinute() {
    NvmlWatchdog watchdog = new NvmlWatchdog(1_000, () -> nowMs);
    watchdog.start();
    nowMs += 100_000;
    watchdog.answered();
    nowMs += 60_001;
    assertThat(watchdog.failure()).isPresent();
  }

  @Test
  void start_thatFailed_isWaitedForWithoutEnd() {
    NvmlWatchdog watchdog = new NvmlWatchdog(1_000, () -> nowMs);
    watchdog.start();
    watchdog.disarm();
    nowMs += 1_000_000;
    assertThat(watchdog.failure()).isEmpty();
  }

  @Test
  void silence_afterASample_isDeathAfterAMinute() {
    NvmlWatchdog watchdog = new NvmlWatchdog(1_000, () -> nowMs);
    watchdog.answered();
    nowMs += 60_000;
    assertThat(watchdog.failure()).isEmpty();
    nowMs++;
    assertThat(watchdog.failure().orElseThrow()).contains("60 s", "NVML");
    watchdog.answered();
    assertThat(watchdog.failure()).isEmpty();
  }

  @Test
  void slowSamples_areWaitedForTenTimes() {
    NvmlWatchdog watchdog = new NvmlWatchdog(30_000, () -> nowMs);
    watchdog.answered();
    nowMs += 300_000;
    assertThat(watchdog.failure()).isEmpty();
    nowMs++;
    assertThat(watchdog.failure()).isPresent();
  }

  @Test
  void restartOfWorkingGpus_thatFails_isDeathAfterHalfAMinute_unlessItWorksLater() {
    NvmlWatchdog watchdog = new NvmlWatchdog(1_000, () -> nowMs);
    watchdog.answered();
    watchdog.restarting();
    watchdog.start();
    watchdog.gone();
    nowMs += 30_000;
    watchdog.gone();
    assertThat(watchdog.failure()).isEmpty();
    nowMs++;
    assertThat(watchdog.failure().orElseThrow()).contains("30 s at most");
    watchdog.answered();
    watchdog.gone();
    nowMs += 30_001;
    assertThat(watchdog.failure()).isEmpty();
  }

  @Test
  void nvmlThatIsGone_isDeathAfterFiveMinutes_howeverOftenItIsTried() {
    NvmlWatchdog watchdog = new NvmlWatchdog(1_000, () -> nowMs);
    watchdog.answered();
    for (int i = 0; i < 60; i++) {
      watchdog.gone();
      nowMs += 5_000;
      watchdog.start();
    }
    assertThat(watchdog.failure()).isEmpty();
    nowMs++;
    assertThat(watchdog.failure().orElseThrow()).contains("worked before");
    watchdog.answered();
    assertThat(watchdog.failure()).isEmpty();
  }
}
