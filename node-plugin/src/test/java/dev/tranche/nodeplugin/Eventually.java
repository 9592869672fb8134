package dev.tranche.nodeplugin;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits for what another thread or process brings about; the limit only ends a broken test. */
public final class Eventually {
  private static final long LIMIT_NS = 30_000_000_000L;
  private static final long STEP_NS = 5_000_000L;

  private Eventually() {}

  public static void eventually(Supplier<String> what, BooleanSupplier condition) {
    long untilNs = System.nanoTime() + LIMIT_NS;
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > untilNs) {
        throw new AssertionError("never came true: " + what.get());
      }
      LockSupport.parkNanos(STEP_NS);
    }
  }

  public static void eventually(String what, BooleanSupplier condition) {
    eventually(() -> what, condition);
  }
}
