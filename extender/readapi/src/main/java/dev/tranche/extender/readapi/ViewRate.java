package dev.tranche.extender.readapi;

import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.readapi.row.View;
import java.util.Optional;

/**
 * Limits requests per second that cost time on the extender's loop. Readers of single namespaces
 * share half of all, so that they leave the others to administrators. Thread-safe; time is a
 * parameter.
 */
final class ViewRate {
  private static final long SECOND_MS = 1_000;

  private final String what;
  private final int perSecondMax;
  private long second = Long.MIN_VALUE;
  private int used;
  private int usedOfNamespaces;

  /**
   * @param what requests, in the plural
   */
  ViewRate(String what, int perSecondMax) {
    this.what = what;
    this.perSecondMax = perSecondMax;
  }

  /** Counts a request. The result says why it is refused; it is empty if it may pass. */
  synchronized Optional<Problem> refusal(View view, long nowMs) {
    long now = Math.floorDiv(nowMs, SECOND_MS);
    if (now != second) {
      second = now;
      used = 0;
      usedOfNamespaces = 0;
    }
    boolean ofNamespace = view.namespace().isPresent();
    if (used == perSecondMax || (ofNamespace && usedOfNamespaces == perSecondMax / 2)) {
      return Optional.of(
          Problem.tooMany(
              "at most %d %s a second are answered, half of them for single namespaces; retry in a second"
                  .formatted(perSecondMax, what)));
    }
    used++;
    usedOfNamespaces += ofNamespace ? 1 : 0;
    return Optional.empty();
  }
}
