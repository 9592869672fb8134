package dev.tranche.process;

import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/** Waits for what another thread or process brings about; the limit only ends a broken test. */
public final class Until {
  private static final long LIMIT_NS = 60_000_000_000L;
  private static final long STEP_NS = 5_000_000L;

  private Until() {}

  /** What is awaited. */
  public interface Condition<E extends Exception> {
    boolean holds() throws E;
  }

  public static <E extends Exception> void until(Condition<E> condition) throws E {
    until("what this test waits for", condition);
  }

  public static <E extends Exception> void until(String what, Condition<E> condition) throws E {
    until(() -> what, condition);
  }

  /**
   * @param what is asked only if it does not come
   */
  public static <E extends Exception> void until(Supplier<String> what, Condition<E> condition)
      throws E {
    long endNs = System.nanoTime() + LIMIT_NS;
    while (!condition.holds()) {
      if (System.nanoTime() > endNs || Thread.currentThread().isInterrupted()) {
        throw new AssertionError("this did not come: " + what.get());
      }
      LockSupport.parkNanos(STEP_NS);
    }
  }
}
