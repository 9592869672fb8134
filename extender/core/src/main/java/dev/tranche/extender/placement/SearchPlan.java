package dev.tranche.extender.placement;

import dev.tranche.api.Demand;
import java.util.List;

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
    List<Demand.Container> containers = demand.containers();
    singleShares = containers.stream().allMatch(each -> each.gpus() == 1);
    anySplittable = containers.stream().anyMatch(Demand.Container::mayUseSeveralGpus);
    allSplittable = containers.stream().allMatch(Demand.Container::mayUseSeveralGpus);
    largestShare =
        onOneGpu
            ? Math.min(peakReplicas, demand.replicasPerGpu())
            : containers.stream().mapToInt(c -> c.shares().getFirst().replicas()).max().orElse(0);
    long count = containers.stream().mapToLong(Demand.Container::gpus).sum();
    tooManyShares = !onOneGpu && count > Shares.COUNT_MAX;
    boolean listed = !onOneGpu && !tooManyShares;
    all = listed ? Shares.all(demand) : Shares.NONE;
    unsplittable = listed && anySplittable ? Shares.unsplittable(demand) : Shares.NONE;
  }
}
