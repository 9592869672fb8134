package dev.tranche.extender.readapi;

import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.readapi.row.View;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Limits requests per second that cost time on the extender's loop. Readers of one namespace share
 * half of all, and each namespace has a part of that half: neither a tenant nor all tenants keep
 * administrators from asking. Thread-safe; time is a parameter.
 */
final class ViewRate {
  /** Of one namespace. */
  static final int OF_NAMESPACE_MAX = 2;

  private static final long SECOND_MS = 1_000;

  private final String what;
  private final int perSecondMax;
  private final Map<String, Integer> ofNamespace = new HashMap<>();
  private long second = Long.MIN_VALUE;
  private int used;

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
      ofNamespace.clear();
    }
    if (used == perSecondMax) {
      return tooMany(perSecondMax, "");
    }
    if (view.namespace().isPresent()) {
      String namespace = view.namespace().get();
      int its = ofNamespace.getOrDefault(namespace, 0);
      int all = ofNamespace.values().stream().mapToInt(Integer::intValue).sum();
      if (its == OF_NAMESPACE_MAX) {
        return tooMany(OF_NAMESPACE_MAX, " for one namespace");
      }
      if (all == perSecondMax / 2) {
        return tooMany(perSecondMax / 2, " for single namespaces");
      }
      ofNamespace.merge(namespace, 1, Integer::sum);
    }
    used++;
    return Optional.empty();
  }

  private Optional<Problem> tooMany(int most, String whom) {
    return Optional.of(
        Problem.tooMany(
            "at most %d %s a second are answered%s; retry in a second"
                .formatted(most, what, whom)));
  }
}
