package dev.tranche.webhook;

import java.time.Duration;
import java.util.function.BooleanSupplier;

/** Waits for what comes in its own time; the limit only ends a test that would hang. */
public final class Await {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  private Await() {}

  public static void await(String what, BooleanSupplier condition) {
    long endNanos = System.nanoTime() + LIMIT.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > endNanos) {
        throw new AssertionError("waited in vain for " + what);
      }
      try {
        Thread.sleep(20);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }
}
