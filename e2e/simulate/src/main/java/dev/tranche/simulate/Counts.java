package dev.tranche.simulate;

import java.util.EnumMap;
import java.util.Map;

/** How often each rare thing has happened. */
final class Counts {
  private final Map<Branch, Long> counts = new EnumMap<>(Branch.class);

  void count(Branch branch) {
    counts.merge(branch, 1L, Long::sum);
  }

  void add(Counts others) {
    others.counts.forEach((branch, n) -> counts.merge(branch, n, Long::sum));
  }

  long of(Branch branch) {
    return counts.getOrDefault(branch, 0L);
  }
}
