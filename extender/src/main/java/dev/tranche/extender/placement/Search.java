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
 * Finds GPUs for all shares of a pod, the first choice of the policy where it can. Plain requests
 * that fit no GPU whole are spread over as few as possible.
 *
 * <p>To fit shares of any size on GPUs is bin packing, so no search is both exact and short for
 * every pod. This one is exact as long as it has steps left, and otherwise says so.
 */
final class Search {
  /** Smaller shares than so many sizes are placed in the order of the last of them. */
  static final int ORDERS_MAX = 3;

  private final SearchPlan plan;
  private final List<GpuView> gpus;
  private final boolean memory;
  private final boolean clients;
  private final SearchBudget steps;

  /**
   * @param memory whether real free memory limits the room
   * @param clients whether MPS client slots do
   * @param steps that all searches on the node share
   */
  Search(SearchPlan plan, List<GpuView> gpus, boolean memory, boolean clients, SearchBudget steps) {
    this.plan = plan;
    this.gpus = gpus;
    this.memory = memory;
    this.clients = clients;
    this.steps = steps;
  }

  sealed interface Result {
    record Found(Placement placement) implements Result {}

    /** There surely is none. */
    record None() implements Result {}

    /** The search was too long, and nothing is known. */
    record GaveUp() implements Result {}
  }

  private static final Result NONE = new Result.None();
  private static final Result GAVE_UP = new Result.GaveUp();

  /**
   * @param order the policy's; null: any placement will do
   */
  Result run(@Nullable GpuOrder order) {
    SearchState room = room();
    if (room.total() < plan.peakReplicas) {
      return NONE;
    }
    if (plan.onOneGpu) {
      return together(room, order);
    }
    if (plan.tooManyShares) {
      return GAVE_UP;
    }
    if (plan.all.count() == 1) {
      int gpu = best(room, plan.peakReplicas, 1, order);
      if (gpu >= 0) {
        return new Result.Found(placed(plan.all, new int[] {gpu}, List.of()));
      }
      return plan.allSplittable ? split(room, plan.firm, new int[0]) : NONE;
    }
    return apart(room, order);
  }

  private SearchState room() {
    steps.take(gpus.size());
    return new SearchState(gpus, memory, clients);
  }

  /** All containers on one GPU that holds the peak. */
  private Result together(SearchState room, @Nullable GpuOrder order) {
    int peak = plan.peakReplicas;
    if (plan.singleShares) {
      int gpu = best(room, peak, plan.demand.containers().size(), order);
      if (gpu >= 0) {
        return new Result.Found(peaked(List.of(new Placement.Share(uuid(gpu), peak))));
      }
    }
    // What init containers leave behind on a second GPU nobody can see, so only what no GPU could
    // hold whole is split.
    boolean plain = peak > plan.demand.replicasPerGpu() && plan.allSplittable;
    return plain
        ? fill(room, peak).<Result>map(shares -> new Result.Found(peaked(shares))).orElse(NONE)
        : NONE;
  }

  /** Containers that last take theirs one after the other; ordinary init containers share. */
  private Placement peaked(List<Placement.Share> peak) {
    var containers = new ArrayList<Placement.Container>();
    int skip = 0;
    for (Demand.Container container : Placement.steered(plan.demand)) {
      int replicas = container.replicas();
      containers.add(new Placement.Container(container.name(), section(peak, skip, replicas)));
      skip += container.kind() == Demand.Kind.INIT ? 0 : replicas;
    }
    return new Placement(containers, Placement.of(List.of(whole(peak))).held());
  }

  private static Placement.Container whole(List<Placement.Share> shares) {
    return new Placement.Container("", shares);
  }

  /** So many replicas of the shares, after skipping some. */
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

  /** Each share where the policy wants it, or else where there is room, or else split. */
  private Result apart(SearchState room, @Nullable GpuOrder order) {
    Attempt whole = assign(plan.all, room, order);
    if (whole.gpus() != null) {
      return new Result.Found(placed(plan.all, whole.gpus(), List.of()));
    }
    if (!plan.anySplittable) {
      return whole.gaveUp() ? GAVE_UP : NONE;
    }
    Attempt firm =
        plan.firm.count() == 0 ? new Attempt(new int[0], false, 0) : assign(plan.firm, room, order);
    if (firm.gpus() == null) {
      return firm.gaveUp() ? GAVE_UP : NONE;
    }
    return split(room, plan.firm, firm.gpus());
  }

  /** In the policy's order; if that takes long, the fullest GPUs first, which rarely does. */
  private Attempt assign(Shares shares, SearchState room, @Nullable GpuOrder order) {
    if (order != null) {
      Attempt attempt = assign(shares, room, orders(shares, order));
      if (!attempt.gaveUp()) {
        return attempt;
      }
    }
    int[] fullestFirst = sorted(Comparator.comparingInt(room::of));
    return assign(shares, room, Backtracking.same(fullestFirst, shares.count()));
  }

  private Attempt assign(Shares shares, SearchState room, int[][] orders) {
    IntBuffer key = FailedSearches.key(room, orders, steps.left());
    Attempt attempt =
        plan.failed
            .find(key)
            .orElseGet(() -> new Backtracking(shares, room, orders, steps.left()).run());
    steps.take(attempt.steps());
    if (attempt.gpus() == null) {
      plan.failed.add(key, attempt);
    }
    return attempt;
  }

  /** Each size of share has its own; a sort for each of hundreds would take too long. */
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

  /** Those that may lie on several GPUs, after the others are placed. */
  private Result split(SearchState room, Shares firm, int[] firmGpus) {
    var filled = new ArrayList<List<Placement.Share>>();
    for (Demand.Container container : plan.demand.containers()) {
      if (!container.splittable()) {
        filled.add(List.of());
        continue;
      }
      Optional<List<Placement.Share>> shares = fill(room, container.replicas());
      if (shares.isEmpty()) {
        // There are replicas enough. With client slots, another choice before might have left them.
        boolean first = firm.count() == 0 && filled.isEmpty();
        return first || !room.limited() ? NONE : GAVE_UP;
      }
      filled.add(shares.get());
    }
    return new Result.Found(placed(firm, firmGpus, filled));
  }

  /**
   * @param filled by container, where any was split
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

  /** Emptiest GPUs first: that takes the fewest. */
  private Optional<List<Placement.Share>> fill(SearchState room, int replicas) {
    var shares = new ArrayList<Placement.Share>(1);
    int left = replicas;
    while (left > 0) {
      steps.take(room.size());
      int gpu = room.emptiest();
      int take = Math.min(left, room.of(gpu));
      if (take == 0) {
        return Optional.empty();
      }
      room.take(gpu, take);
      shares.add(new Placement.Share(uuid(gpu), take));
      left -= take;
    }
    return Optional.of(shares);
  }

  /** The first that fits, without a sort: most pods want no more. None: -1. */
  private int best(SearchState room, int replicas, int clients, @Nullable GpuOrder order) {
    Comparator<GpuView> better = order == null ? (_, _) -> 0 : order.forShare(replicas);
    int best = -1;
    for (int gpu = 0; gpu < room.size(); gpu++) {
      boolean fits = room.fits(gpu, replicas, clients);
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
