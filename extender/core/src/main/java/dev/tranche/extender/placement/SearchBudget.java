package dev.tranche.extender.placement;

/**
 * The steps that all searches for one pod on one node may take together; one step looks at one GPU.
 * Steps are counted rather than timed, so that the same pod and node always get the same answer.
 */
final class SearchBudget {
  /** About a tenth of a millisecond. */
  static final int MAX = 8_000;

  /**
   * The limit of one attempt: what the policy's order does not find may be found in another order.
   */
  static final int ATTEMPT_MAX = 3_000;

  int taken;

  void take(int steps) {
    taken += steps;
  }

  /** Returns the steps left for the next attempt. */
  int left() {
    return Math.clamp((long) MAX - taken, 0, ATTEMPT_MAX);
  }
}
