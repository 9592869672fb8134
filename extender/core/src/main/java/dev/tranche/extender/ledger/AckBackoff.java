package dev.tranche.extender.ledger;

import dev.tranche.api.Backoff;

/**
 * The backoff of one node that does not acknowledge assignments. It lasts 10 s and doubles with
 * each failure after it, up to 5 min.
 */
final class AckBackoff {
  static final long FIRST_MS = 10_000;
  static final long LONGEST_MS = 300_000;

  /** How long after a backoff its failure still says something about this extender. */
  static final long RECENT_MS = 30_000;

  private final Backoff delay = new Backoff(FIRST_MS, LONGEST_MS);

  /** Long ago before the first failure. */
  private long untilMs = Long.MIN_VALUE / 2;

  boolean active(long nowMs) {
    return nowMs < untilMs;
  }

  /** Returns whether the last failure still says something about this extender. */
  boolean recent(long nowMs) {
    return nowMs - untilMs < RECENT_MS;
  }

  /** Returns whether failures are long past, so that rare ones of many nodes do not add up. */
  boolean old(long nowMs) {
    return nowMs - untilMs >= LONGEST_MS;
  }

  /**
   * Records a failure. Assignments that were sent before the last backoff ended say nothing new:
   * many may have been in flight together.
   *
   * @return how long the node is left alone from now on; 0 if the failure says nothing new
   */
  long failed(long sentAtMs, long nowMs) {
    if (sentAtMs < untilMs) {
      return 0;
    }
    long ms = delay.next();
    untilMs = nowMs + ms;
    return ms;
  }
}
