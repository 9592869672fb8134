package dev.tranche.e2e.install;

import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits for what a cluster does in its own time. */
public final class Await {
  private static final long POLL_MS = 50;

  private Await() {}

  public static void until(String what, int limitSeconds, BooleanSupplier holds) {
    until(what, limitSeconds, holds, () -> "");
  }

  /**
   * Returns when a condition holds.
   *
   * @param state describes the state if it does not hold in time
   */
  public static void until(
      String what, int limitSeconds, BooleanSupplier holds, Supplier<String> state) {
    long deadline = System.nanoTime() + Duration.ofSeconds(limitSeconds).toNanos();
    while (!holds.getAsBoolean()) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError(
            "waited %d s for %s\n%s".formatted(limitSeconds, what, state.get()));
      }
      pause();
    }
  }

  private static void pause() {
    try {
      Thread.sleep(POLL_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }
}
