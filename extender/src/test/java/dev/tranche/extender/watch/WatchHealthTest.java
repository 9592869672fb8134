package dev.tranche.extender.watch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.metrics.ExtenderMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Test;

final class WatchHealthTest {
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private long nowMs = 1_000_000;
  private final WatchHealth pulse =
      new WatchHealth("pods", new ExtenderMetrics(registry), () -> nowMs);

  private double ageSeconds() {
    return registry.get("tranche.extender.watch.age.seconds").tag("kind", "pods").gauge().value();
  }

  @Test
  void silence_isALostWatch_whereBookmarksCome() {
    pulse.bookmark();
    nowMs += WatchHealth.SILENCE_MS_MAX;
    assertThat(pulse.lost()).isFalse();
    nowMs++;
    assertThat(pulse.lost()).isTrue();
    pulse.eventReceived();
    assertThat(pulse.lost()).isFalse();
  }

  @Test
  void silence_saysNothing_whereNoBookmarkHasEverCome() {
    pulse.eventReceived();
    nowMs += 10 * WatchHealth.SILENCE_MS_MAX;
    assertThat(pulse.lost()).isFalse();
    assertThat(ageSeconds()).isEqualTo(1_500);
  }

  @Test
  void age_isThatOfTheLastWord_orOfTheStart() {
    nowMs += 30_000;
    assertThat(ageSeconds()).isEqualTo(30);
    pulse.bookmark();
    nowMs += 500;
    assertThat(ageSeconds()).isEqualTo(0.5);
  }
}
