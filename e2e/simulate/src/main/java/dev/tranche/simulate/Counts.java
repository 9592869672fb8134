package dev.tranche.simulate;

import java.util.EnumMap;
import java.util.Map;

/** How often each rare thing has happened. */
final class Counts {
  private final Map<Branch, Long> byBranch = new EnumMap<>(Branch.class);

  void count(Branch branch) {
    byBranch.merge(branch, 1L, Long::sum);
  }

  void add(Counts others) {
    others.byBranch.forEach((branch, n) -> byBranch.merge(branch, n, Long::sum));
  }

  long of(Branch branch) {
    return byBranch.getOrDefault(branch, 0L);
  }
}
