package dev.tranche.extender.placement;

import dev.tranche.api.Demand;
import org.jspecify.annotations.Nullable;

/** What a search needs to know of a pod: made once, since a pod may have a thousand shares. */
final class SearchPlan {
  final Demand demand;

  /** The most replicas that are held at one moment. */
  final int peakReplicas;

  final boolean onOneGpu;

  /** No container asks for more than one share. */
  final boolean singleShares;

  final boolean anySplittable;
  final boolean allSplittable;

  /** The largest share, or the peak of a pod that must lie on one GPU. */
  final int largestShare;

  /** More than a search may have. */
  final boolean tooManyShares;

  /** Of a pod that may lie on several GPUs. */
  final Shares all;

  /** Without those that may be split. */
  final Shares firm;

  /** Of shares of either kind, told apart by their number. */
  final FailedSearches failed = new FailedSearches();

  SearchPlan(Demand demand) {
    this.demand = demand;
    peakReplicas = demand.peakReplicas();
    onOneGpu = demand.onOneGpu();
    long count = 0;
    int largest = 0;
    boolean single = true;
    boolean any = false;
    boolean every = true;
    for (Demand.Container container : demand.containers()) {
      count += container.shares().size();
      single &= container.shares().size() == 1;
      any |= container.splittable();
      every &= container.splittable();
      for (int share : container.shares()) {
        largest = Math.max(largest, share);
      }
    }
    singleShares = single;
    anySplittable = any;
    allSplittable = every;
    largestShare = onOneGpu ? Math.min(peakReplicas, demand.replicasPerGpu()) : largest;
    tooManyShares = !onOneGpu && count > Shares.COUNT_MAX;
    all = onOneGpu || tooManyShares ? Shares.NONE : Shares.all(demand);
    firm = onOneGpu || tooManyShares || !any ? Shares.NONE : Shares.firm(demand);
  }

  /** All of it follows from the demand. */
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof SearchPlan plan && demand.equals(plan.demand);
  }

  @Override
  public int hashCode() {
    return demand.hashCode();
  }
}
