package dev.tranche.extender.placement;

import dev.tranche.api.Demand;
import dev.tranche.extender.placement.Backtracking.Attempt;
import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Finds GPUs for all shares of a pod, if possible those that the policy prefers. Plain requests
 * that fit on no single GPU are split over as few GPUs as possible.
 *
 * <p>Fitting shares of any size on GPUs is bin packing, so no search is both exact and short for
 * every pod. This one is exact unless it runs out of steps, which it then reports.
 */
final class Search {
  /**
   * Number of share sizes that have a GPU order of their own; smaller shares use the last of these.
   */
  static final int ORDERS_MAX = 3;

  private final SearchPlan plan;
  private final List<GpuView> gpus;
  private final SearchState state;
  private final SearchBudget steps;

  /**
   * @param memory whether real free memory limits the free replicas
   * @param clients whether MPS client slots limit them
   * @param steps the budget that all searches on the node share
   */
  Search(SearchPlan plan, List<GpuView> gpus, boolean memory, boolean clients, SearchBudget steps) {
    this.plan = plan;
    this.gpus = gpus;
    this.state = new SearchState(gpus, memory, clients);
    this.steps = steps;
  }

  private static final Optional<Outcome> NONE = Optional.empty();
  private static final Optional<Outcome> GAVE_UP =
      Optional.of(new Outcome.DoesNotFit(Reason.UNDECIDED));

  private static Optional<Outcome> found(Placement placement) {
    return Optional.of(new Outcome.Fits(placement));
  }

  /**
   * Returns a placement, or that the search was given up. Empty if there is certainly no placement.
   *
   * @param order the policy's order; null if any placement will do
   */
  Optional<Outcome> run(@Nullable GpuOrder order) {
    steps.take(gpus.size());
    if (state.total() < plan.peakReplicas) {
      return NONE;
    }
    if (plan.onOneGpu) {
      return onOneGpu(order);
    }
    if (plan.tooManyShares) {
      return GAVE_UP;
    }
    if (plan.all.count() == 1) {
      int gpu = best(plan.peakReplicas, 1, order);
      if (gpu >= 0) {
        return found(placed(plan.all, new int[] {gpu}, List.of()));
      }
      return plan.allSplittable ? split(plan.unsplittable, new int[0]) : NONE;
    }
    return onSeveralGpus(order);
  }

  /** Places all containers on one GPU that has enough free replicas for the peak. */
  private Optional<Outcome> onOneGpu(@Nullable GpuOrder order) {
    int peak = plan.peakReplicas;
    if (plan.singleShares) {
      int gpu = best(peak, plan.demand.containers().size(), order);
      if (gpu >= 0) {
        return found(dividePeak(List.of(new Placement.Share(uuid(gpu), peak))));
      }
    }
    // Nobody can see what init containers leave on a second GPU. A pod is therefore split only if
    // no GPU could ever hold it whole.
    boolean plain = peak > plan.demand.replicasPerGpu() && plan.allSplittable;
    return plain
        ? fill(peak, plan.demand.containers().size())
            .map(shares -> new Outcome.Fits(dividePeak(shares)))
        : NONE;
  }

  /**
   * Divides the peak among the containers. Lasting containers take disjoint parts; ordinary init
   * containers reuse them.
   */
  private Placement dividePeak(List<Placement.Share> peak) {
    var containers = new ArrayList<Placement.Container>();
    int skip = 0;
    for (Demand.Container container : Placement.assignableContainers(plan.demand)) {
      int replicas = container.replicas();
      containers.add(new Placement.Container(container.name(), section(peak, skip, replicas)));
      skip += container.kind() == Demand.Kind.INIT ? 0 : replicas;
    }
    return new Placement(
        containers, Placement.of(List.of(new Placement.Container("", peak))).held());
  }

  /** Returns {@code replicas} replicas of the shares, after skipping some. */
  private static List<Placement.Share> section(
      List<Placement.Share> shares, int skip, int replicas) {
    var taken = new ArrayList<Placement.Share>();
    int toSkip = skip;
    int left = replicas;
    for (Placement.Share share : shares) {
      int skipped = Math.min(toSkip, share.replicas());
      int take = Math.min(left, share.replicas() - skipped);
      if (take > 0) {
        taken.add(new Placement.Share(share.uuid(), take));
      }
      toSkip -= skipped;
      left -= take;
    }
    return taken;
  }

  /** Places each share where the policy prefers, or else where it fits, or else splits it. */
  private Optional<Outcome> onSeveralGpus(@Nullable GpuOrder order) {
    Attempt whole = assign(plan.all, order);
    if (whole.gpus() != null) {
      return found(placed(plan.all, whole.gpus(), List.of()));
    }
    if (!plan.anySplittable) {
      return whole.gaveUp() ? GAVE_UP : NONE;
    }
    Attempt unsplittable =
        plan.unsplittable.count() == 0
            ? new Attempt(new int[0], false, 0)
            : assign(plan.unsplittable, order);
    if (unsplittable.gpus() == null) {
      return unsplittable.gaveUp() ? GAVE_UP : NONE;
    }
    return split(plan.unsplittable, unsplittable.gpus());
  }

  /**
   * Searches in the policy's order. If that takes too many steps, tries the fullest GPUs first,
   * which is rarely long.
   */
  private Attempt assign(Shares shares, @Nullable GpuOrder order) {
    if (order != null) {
      Attempt attempt = assign(shares, orders(shares, order));
      if (!attempt.gaveUp()) {
        return attempt;
      }
    }
    int[] fullestFirst = sorted(Comparator.comparingInt(state::freeReplicas));
    return assign(shares, Backtracking.same(fullestFirst, shares.count()));
  }

  private Attempt assign(Shares shares, int[][] orders) {
    IntBuffer key = FailedSearches.key(state, orders, steps.left());
    Attempt attempt =
        plan.failed
            .find(key)
            .orElseGet(() -> new Backtracking(shares, state, orders, steps.left()).run());
    steps.take(attempt.steps());
    if (attempt.gpus() == null) {
      plan.failed.add(key, attempt);
    }
    return attempt;
  }

  /** Orders the GPUs for each size of share; a sort for each of hundreds would take too long. */
  private int[][] orders(Shares shares, GpuOrder order) {
    var orders = new int[shares.count()][];
    int made = 0;
    for (int i = 0; i < orders.length; i++) {
      boolean other = i == 0 || shares.replicas[i] != shares.replicas[i - 1];
      if (other && made < ORDERS_MAX) {
        Comparator<GpuView> best = order.forShare(shares.replicas[i]);
        orders[i] = sorted((a, b) -> best.compare(gpus.get(a), gpus.get(b)));
        made++;
      } else {
        orders[i] = orders[i - 1];
      }
    }
    return orders;
  }

  private int[] sorted(Comparator<Integer> order) {
    return IntStream.range(0, gpus.size())
        .boxed()
        .sorted(order)
        .mapToInt(Integer::intValue)
        .toArray();
  }

  /** Splits the shares that may lie on several GPUs, after the others are placed. */
  private Optional<Outcome> split(Shares unsplittable, int[] unsplittableGpus) {
    var filled = new ArrayList<List<Placement.Share>>();
    for (Demand.Container container : plan.demand.containers()) {
      if (!container.mayUseSeveralGpus()) {
        filled.add(List.of());
        continue;
      }
      Optional<List<Placement.Share>> shares = fill(container.replicas(), 1);
      if (shares.isEmpty()) {
        // There are enough replicas. If client slots are limited, another earlier choice might have
        // left enough of them.
        boolean first = unsplittable.count() == 0 && filled.isEmpty();
        return first || !state.limited() ? NONE : GAVE_UP;
      }
      filled.add(shares.get());
    }
    return found(placed(unsplittable, unsplittableGpus, filled));
  }

  /**
   * @param filled split shares by container; empty if none was split
   */
  private Placement placed(Shares shares, int[] chosen, List<List<Placement.Share>> filled) {
    List<Demand.Container> asking = plan.demand.containers();
    var byContainer = new ArrayList<List<Placement.Share>>(asking.size());
    for (int i = 0; i < asking.size(); i++) {
      byContainer.add(filled.isEmpty() ? new ArrayList<>() : new ArrayList<>(filled.get(i)));
    }
    for (int i = 0; i < chosen.length; i++) {
      byContainer
          .get(shares.containers[i])
          .add(new Placement.Share(uuid(chosen[i]), shares.replicas[i]));
    }
    var containers = new ArrayList<Placement.Container>(asking.size());
    for (int i = 0; i < asking.size(); i++) {
      containers.add(new Placement.Container(asking.get(i).name(), byContainer.get(i)));
    }
    return Placement.of(containers);
  }

  /**
   * Takes replicas from the emptiest GPUs first, which uses the fewest GPUs.
   *
   * @param clients that may come to be on each of them
   */
  private Optional<List<Placement.Share>> fill(int replicas, int clients) {
    var shares = new ArrayList<Placement.Share>(1);
    int left = replicas;
    while (left > 0) {
      steps.take(state.size());
      int gpu = state.emptiest(clients);
      int take = Math.min(left, state.freeReplicas(gpu, clients));
      if (take == 0) {
        return Optional.empty();
      }
      state.take(gpu, take);
      shares.add(new Placement.Share(uuid(gpu), take));
      left -= take;
    }
    return Optional.of(shares);
  }

  /**
   * Returns the best GPU that fits, or -1. It does not sort, and most pods need no more than this.
   */
  private int best(int replicas, int clients, @Nullable GpuOrder order) {
    Comparator<GpuView> better = order == null ? (_, _) -> 0 : order.forShare(replicas);
    int best = -1;
    for (int gpu = 0; gpu < state.size(); gpu++) {
      boolean fits = state.fits(gpu, replicas, clients);
      if (fits && (best < 0 || better.compare(gpus.get(gpu), gpus.get(best)) < 0)) {
        best = gpu;
      }
    }
    return best;
  }

  private String uuid(int gpu) {
    return gpus.get(gpu).uuid();
  }
}
