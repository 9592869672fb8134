package dev.tranche.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class BackoffTest {
  private final Backoff backoff = new Backoff(250, 1_500);

  @Test
  void failures_areWaitedForTwiceAsLongEachTime_upToTheMaximum() {
    assertThat(Stream.generate(backoff::next).limit(5))
        .isEqualTo(List.of(250L, 500L, 1_000L, 1_500L, 1_500L));
    backoff.reset();
    assertThat(backoff.next()).isEqualTo(250);
  }

  @Test
  void jitter_takesUpToHalfOfItAway() {
    for (int i = 0; i < 1_000; i++) {
      assertThat(backoff.nextWithJitter()).isBetween(125L, 250L);
      backoff.reset();
    }
  }
}
