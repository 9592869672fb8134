package dev.tranche.nodeplugin.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class NvmlWatchdogTest {
  private long nowMs = 5_000;
  private final NvmlWatchdog watchdog = new NvmlWatchdog(1_000, () -> nowMs);

  @Test
  void silence_beforeNvmlHasStarted_isLife() {
    nowMs += 1_000_000;
    assertThat(watchdog.failure()).isEmpty();
  }

  @Test
  void start_thatHangs_isDeathAfterFiveMinutes() {
    watchdog.start();
    nowMs += 300_000;
    assertThat(watchdog.failure()).isEmpty();
    nowMs++;
    assertThat(watchdog.failure().orElseThrow()).contains("300 s", "NVML");
  }

  @Test
  void silence_afterASlowStart_isDeathAfterAMinute() {
    watchdog.start();
    nowMs += 100_000;
    watchdog.answered();
    nowMs += 60_001;
    assertThat(watchdog.failure()).isPresent();
  }

  @Test
  void start_thatFailed_isWaitedForWithoutEnd() {
    watchdog.start();
    watchdog.disarm();
    nowMs += 1_000_000;
    assertThat(watchdog.failure()).isEmpty();
  }

  @Test
  void silence_afterASample_isDeathAfterAMinute() {
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
    NvmlWatchdog slow = new NvmlWatchdog(30_000, () -> nowMs);
    slow.answered();
    nowMs += 300_000;
    assertThat(slow.failure()).isEmpty();
    nowMs++;
    assertThat(slow.failure()).isPresent();
  }

  @Test
  void restartOfWorkingGpus_thatFails_isDeathAfterHalfAMinute_unlessItWorksLater() {
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
