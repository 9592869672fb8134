package dev.tranche.extender.snapshot;

import java.util.function.LongSupplier;

/**
 * How much one piece of work may do on the loop before others have their turn. Work that needs more
 * ends with {@link Over}. It is begun again in its next turn, with what it has found. Confined to
 * the loop.
 */
public final class Turn {
  /**
   * Comparisons of a pod with a GPU, or with a value of a PodDisruptionBudget. This many take a few
   * milliseconds at most.
   */
  public static final long WORK_MAX = 5_000;

  /** Decisions on other pods wait for as long, and for one more step. */
  public static final long MS_MAX = 5;

  private final LongSupplier clockMs;
  private long endMs;
  private long work;

  /** A turn that begins now. */
  public Turn(LongSupplier clockMs) {
    this.clockMs = clockMs;
    begin();
  }

  /** The turn is over, and what was to be done is not. */
  public static final class Over extends RuntimeException {
    private static final long serialVersionUID = 1;

    private Over() {
      super("the turn is over", null, false, false);
    }
  }

  /** Begins the next turn. */
  public void begin() {
    work = 0;
    endMs = clockMs.getAsLong() + MS_MAX;
  }

  /** Is called before each step, which may not be divided. The first one is always allowed. */
  public void step() {
    if (work > 0 && (work >= WORK_MAX || clockMs.getAsLong() >= endMs)) {
      throw new Over();
    }
  }

  /**
   * @param comparisons that the step took
   */
  public void spent(long comparisons) {
    work += comparisons;
  }

  /** Returns the comparisons of this turn. */
  public long work() {
    return work;
  }
}
