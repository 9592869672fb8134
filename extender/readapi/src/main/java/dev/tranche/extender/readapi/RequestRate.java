package dev.tranche.extender.readapi;

import dev.tranche.extender.readapi.query.Problem;
import java.util.Optional;

/**
 * Limits requests per second that cost time on the extender's loop. Thread-safe; time is a
 * parameter.
 */
final class RequestRate {
  private static final long SECOND_MS = 1_000;

  private final String what;
  private final int perSecondMax;
  private long second = Long.MIN_VALUE;
  private int used;

  /**
   * @param what requests, in the plural
   */
  RequestRate(String what, int perSecondMax) {
    this.what = what;
    this.perSecondMax = perSecondMax;
  }

  /** Counts a request. The result says why it is refused; it is empty if it may pass. */
  synchronized Optional<Problem> refusal(long nowMs) {
    long now = Math.floorDiv(nowMs, SECOND_MS);
    used = now == second ? used + 1 : 1;
    second = now;
    return used <= perSecondMax
        ? Optional.empty()
        : Optional.of(
            Problem.tooMany(
                "at most %d %s a second are answered; retry in a second"
                    .formatted(perSecondMax, what)));
  }
}
