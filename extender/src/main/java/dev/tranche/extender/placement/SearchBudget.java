package dev.tranche.extender.placement;

/**
 * What all searches for one pod on one node may cost together, in looks at one GPU. Counted rather
 * than timed, so that the same pod and node always get the same answer.
 */
final class SearchBudget {
  /** About a tenth of a millisecond. */
  static final int MAX = 8_000;

  /** Of one attempt: what the policy's order does not find may be found in another one. */
  static final int ATTEMPT_MAX = 3_000;

  private int taken;

  void take(int steps) {
    taken += steps;
  }

  int taken() {
    return taken;
  }

  /** For the next attempt. */
  int left() {
    return Math.clamp((long) MAX - taken, 0, ATTEMPT_MAX);
  }
}
