package dev.tranche.simulate;

import java.util.HashMap;
import java.util.Map;

/** How often each {@link Branch} was met, and how often each kind of fault has happened. */
final class Counts {
  private final Map<Enum<?>, Long> counts = new HashMap<>();

  void count(Enum<?> what) {
    counts.merge(what, 1L, Long::sum);
  }

  void add(Counts others) {
    others.counts.forEach((what, n) -> counts.merge(what, n, Long::sum));
  }

  long of(Enum<?> what) {
    return counts.getOrDefault(what, 0L);
  }
}
