package dev.tranche.extender.placement;

import dev.tranche.api.Demand;
import java.util.ArrayList;
import java.util.List;

/** Containers of a demand, with their shares listed one by one. */
final class Containers {
  private Containers() {}

  static Demand.Container of(
      String name, Demand.Kind kind, List<Integer> shares, boolean mayUseSeveralGpus) {
    var equal = new ArrayList<Demand.Shares>();
    for (int replicas : shares) {
      boolean same = !equal.isEmpty() && equal.getLast().replicas() == replicas;
      int before = same ? equal.removeLast().count() : 0;
      equal.add(new Demand.Shares(before + 1, replicas));
    }
    return new Demand.Container(name, kind, equal, mayUseSeveralGpus);
  }
}
