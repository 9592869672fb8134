package dev.tranche.extender.placement;

import dev.tranche.api.Demand;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Depth-first over the shares, GPUs in the policy's order, so that the first complete answer is the
 * policy's best. Plain requests that fit no GPU whole are spread over as few as possible.
 */
final class Search {
  /** A search that takes longer is given up: such a pod is refused rather than the loop held. */
  private static final int STEPS_MAX = 20_000;

  private final Demand demand;
  private final List<Slot> slots;
  private final GpuOrder order;
  private int steps;

  Search(Demand demand, List<Slot> slots, GpuOrder order) {
    this.demand = demand;
    this.slots = slots;
    this.order = order;
  }

  /** One share of one container. */
  private record Item(int container, int replicas) {}

  Optional<Placement> run() {
    return demand.onOneGpu() ? together() : apart();
  }

  /** All containers on one GPU that holds the peak. */
  private Optional<Placement> together() {
    int peak = demand.peakReplicas();
    int clients = demand.containers().size();
    boolean single = demand.containers().stream().allMatch(c -> c.shares().size() == 1);
    if (single) {
      Slot best = best(peak, clients);
      if (best != null) {
        return Optional.of(peaked(List.of(new Placement.Share(best.gpu.uuid(), peak))));
      }
    }
    // What init containers leave behind on a second GPU nobody can see, so only what no GPU could
    // hold whole is split.
    boolean plain =
        peak > demand.replicasPerGpu()
            && demand.containers().stream().allMatch(Demand.Container::splittable);
    return plain ? fill(peak).map(this::peaked) : Optional.empty();
  }

  /** Containers that last take theirs one after the other; ordinary init containers share. */
  private Placement peaked(List<Placement.Share> peak) {
    var containers = new ArrayList<Placement.Container>();
    int skip = 0;
    for (Demand.Container container : Placement.steered(demand)) {
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

  private Optional<Placement> apart() {
    var chosen = new ArrayList<List<Placement.Share>>();
    demand.containers().forEach(c -> chosen.add(new ArrayList<>()));
    if (assign(items(false), 0, chosen)) {
      return Optional.of(placed(chosen));
    }
    boolean anySplittable = demand.containers().stream().anyMatch(Demand.Container::splittable);
    if (!anySplittable || !assign(items(true), 0, chosen)) {
      return Optional.empty();
    }
    for (int i = 0; i < demand.containers().size(); i++) {
      Demand.Container container = demand.containers().get(i);
      if (container.splittable()) {
        Optional<List<Placement.Share>> filled = fill(container.replicas());
        if (filled.isEmpty()) {
          return Optional.empty();
        }
        chosen.set(i, filled.get());
      }
    }
    return Optional.of(placed(chosen));
  }

  private Placement placed(List<List<Placement.Share>> chosen) {
    var containers = new ArrayList<Placement.Container>();
    for (int i = 0; i < chosen.size(); i++) {
      String name = demand.containers().get(i).name();
      containers.add(new Placement.Container(name, chosen.get(i)));
    }
    return Placement.of(containers);
  }

  private List<Item> items(boolean firmOnly) {
    var items = new ArrayList<Item>();
    for (int i = 0; i < demand.containers().size(); i++) {
      Demand.Container container = demand.containers().get(i);
      if (!firmOnly || !container.splittable()) {
        for (int replicas : container.shares()) {
          items.add(new Item(i, replicas));
        }
      }
    }
    return items;
  }

  private boolean assign(List<Item> items, int at, List<List<Placement.Share>> chosen) {
    if (at == items.size()) {
      return true;
    }
    Item item = items.get(at);
    List<Placement.Share> own = chosen.get(item.container());
    Set<String> used = new HashSet<>();
    own.forEach(s -> used.add(s.uuid()));
    for (Slot slot : ordered(item.replicas())) {
      if (used.contains(slot.gpu.uuid()) || !slot.fits(item.replicas(), 1)) {
        continue;
      }
      if (++steps > STEPS_MAX) {
        return false;
      }
      slot.take(item.replicas(), 1);
      own.add(new Placement.Share(slot.gpu.uuid(), item.replicas()));
      if (assign(items, at + 1, chosen)) {
        return true;
      }
      own.removeLast();
      slot.giveBack(item.replicas(), 1);
    }
    return false;
  }

  /** Emptiest GPUs first: that takes the fewest. */
  private Optional<List<Placement.Share>> fill(int replicas) {
    var shares = new ArrayList<Placement.Share>();
    int left = replicas;
    List<Slot> emptiest =
        slots.stream().sorted(Comparator.comparingInt((Slot s) -> -s.room())).toList();
    for (Slot slot : emptiest) {
      int take = Math.min(left, slot.room());
      if (take > 0) {
        slot.take(take, 1);
        shares.add(new Placement.Share(slot.gpu.uuid(), take));
        left -= take;
      }
    }
    return left == 0 ? Optional.of(shares) : Optional.empty();
  }

  /** The first of {@link #ordered} that fits, without the order: most pods want no more. */
  private @Nullable Slot best(int replicas, int clients) {
    Comparator<GpuView> order = this.order.forShare(replicas);
    Slot best = null;
    for (Slot slot : slots) {
      boolean fits = slot.fits(replicas, clients);
      if (fits && (best == null || order.compare(slot.gpu, best.gpu) < 0)) {
        best = slot;
      }
    }
    return best;
  }

  private List<Slot> ordered(int replicas) {
    if (slots.size() == 1) {
      return slots;
    }
    Comparator<GpuView> best = order.forShare(replicas);
    return slots.stream().sorted((a, b) -> best.compare(a.gpu, b.gpu)).toList();
  }
}
