package dev.tranche.simulate;

import java.util.EnumMap;
import java.util.Map;

/** How often each rare thing has happened, and each kind of fault. */
final class Counts {
  private final Map<Branch, Long> byBranch = new EnumMap<>(Branch.class);
  private final Map<Fault.Kind, Long> byKind = new EnumMap<>(Fault.Kind.class);

  void count(Branch branch) {
    byBranch.merge(branch, 1L, Long::sum);
  }

  void count(Fault.Kind kind) {
    byKind.merge(kind, 1L, Long::sum);
  }

  void add(Counts others) {
    others.byBranch.forEach((branch, n) -> byBranch.merge(branch, n, Long::sum));
    others.byKind.forEach((kind, n) -> byKind.merge(kind, n, Long::sum));
  }

  long of(Branch branch) {
    return byBranch.getOrDefault(branch, 0L);
  }

  long of(Fault.Kind kind) {
    return byKind.getOrDefault(kind, 0L);
  }
}
