package dev.tranche.extender;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.Callable;

/** Waits for what other threads do. */
public final class Until {
  /** Only ends a broken test. */
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private Until() {}

  public static void until(Callable<Boolean> condition) throws Exception {
    Instant deadline = Instant.now().plus(PATIENCE);
    while (!condition.call()) {
      assertThat(Instant.now()).as("still waiting").isBefore(deadline);
      Thread.sleep(20);
    }
  }
}
