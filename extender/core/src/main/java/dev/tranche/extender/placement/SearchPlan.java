package dev.tranche.extender.placement;

import dev.tranche.api.Demand;

/**
 * What a search needs to know about a pod. It is built once, since a pod may have a thousand
 * shares.
 */
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

  /** Whether the pod has more shares than a search accepts. */
  final boolean tooManyShares;

  /** All shares of a pod that may use several GPUs. */
  final Shares all;

  /** The shares that may not be split. */
  final Shares unsplittable;

  /**
   * Failed searches for {@link #all} and {@link #unsplittable}; the number of shares tells them
   * apart.
   */
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
      int gpus = container.gpus();
      count += gpus;
      single &= gpus == 1;
      any |= container.mayUseSeveralGpus();
      every &= container.mayUseSeveralGpus();
      largest = Math.max(largest, container.shares().getFirst().replicas());
    }
    singleShares = single;
    anySplittable = any;
    allSplittable = every;
    largestShare = onOneGpu ? Math.min(peakReplicas, demand.replicasPerGpu()) : largest;
    tooManyShares = !onOneGpu && count > Shares.COUNT_MAX;
    all = onOneGpu || tooManyShares ? Shares.NONE : Shares.all(demand);
    unsplittable = onOneGpu || tooManyShares || !any ? Shares.NONE : Shares.unsplittable(demand);
  }
}
