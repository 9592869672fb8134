package dev.tranche.extender.score.packing;

import dev.tranche.api.AllowList;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Chooses the node, by its {@link FreeCapacity}, that loses least by taking a pod, and the GPUs in
 * it. The loss is the added {@link Stranding} plus the price of {@link LargePodReserve}. It learns
 * from the pods that it counts.
 */
public final class Packer {
  /**
   * Pods that are counted at the start. Otherwise the first pods, those without GPUs above all,
   * would go anywhere. They are few, so that real pods soon count for more.
   */
  private static final List<Shape> USUAL =
      List.of(
          new Shape(8_000, 16_384, 1, Shape.WHOLE_MILLI, AllowList.ANY),
          new Shape(4_000, 16_384, 1, Shape.WHOLE_MILLI / 2, AllowList.ANY));

  private static final int USUAL_PODS = 8;

  /** The growth in counted pods after which it learns anew: often at first, then more seldom. */
  private static final double GROWTH = 1.25;

  private static final int LEAST_GROWTH = 16;

  /** Costs that differ by less than this count as equal. */
  private static final double SAME_MILLI = 1e-6;

  /** Limit of cached nodes, counted for each shape; some 20 MB. */
  private static final int KNOWN_MAX = 100_000;

  /** The most nodes that are evaluated anew for one choice, since others wait for its answer. */
  static final int FRESH_MAX = 64;

  private final Shapes shapes = new Shapes();
  private final LargePodReserve guard = new LargePodReserve(shapes);
  private Stranding stranding = new Stranding(List.of(), new double[0]);
  private int counted;
  private int learnAt;

  private final Map<Shape, Map<FreeCapacity, Option[]>> known = new HashMap<>();
  private int knownCount;

  private record Option(int leastMilli, double stranded) {}

  private static final Option[] NONE = {};

  /**
   * @param index of the node
   * @param leastMilli the GPUs are the fullest ones with at least this much free
   */
  public record Choice(int index, int leastMilli) {}

  public Packer() {
    for (Shape shape : USUAL) {
      for (int i = 0; i < USUAL_PODS; i++) {
        learn("usual-" + i + "-" + shape.milli(), shape);
      }
    }
  }

  /** Counts a pod, but only once. */
  public void learn(String uid, Shape shape) {
    if (!shapes.count(uid, shape)) {
      return;
    }
    guard.counted(shape);
    if (++counted >= learnAt) {
      learnAt =
          (int)
              Math.max(
                  counted + LEAST_GROWTH,
                  Math.min(counted * GROWTH, counted + Shapes.PODS_MAX / 4.0));
      stranding = new Stranding(shapes.all(), shapes.weights());
      forget();
    }
  }

  private void forget() {
    known.clear();
    knownCount = 0;
  }

  /** Returns the number of different shapes. */
  public int shapes() {
    return shapes.size();
  }

  /** Returns the node that loses least, the first among equals; empty if none takes the pod. */
  public Optional<Choice> choose(Shape shape, List<FreeCapacity> capacities) {
    return best(shape, capacities, 0).stream().findFirst();
  }

  /** Returns the indexes of all nodes that lose least by taking a pod without GPUs. */
  public List<Integer> cheapest(Shape shape, List<FreeCapacity> capacities) {
    return best(shape, capacities, SAME_MILLI).stream().map(Choice::index).toList();
  }

  /**
   * Returns the choices that lose least, in the order of the nodes.
   *
   * @param same costs that differ by less than this count as equal; 0: only the first is kept
   */
  private List<Choice> best(Shape shape, List<FreeCapacity> capacities, double same) {
    guard.price(capacities);
    Map<FreeCapacity, Option[]> options = options(shape, capacities);
    var best = new ArrayList<Choice>();
    double least = Double.POSITIVE_INFINITY;
    for (int i = 0; i < capacities.size(); i++) {
      FreeCapacity capacity = capacities.get(i);
      for (Option option : options.getOrDefault(capacity, NONE)) {
        // The price is computed only where it could decide.
        boolean close = option.stranded() < least + same;
        double cost = close ? cost(capacity, shape, option) : Double.POSITIVE_INFINITY;
        if (cost < least - same) {
          best.clear();
          least = cost;
        }
        if (best.isEmpty() || cost < least + same) {
          best.add(new Choice(i, option.leastMilli()));
        }
      }
    }
    return best;
  }

  private double cost(FreeCapacity capacity, Shape shape, Option option) {
    double price =
        guard.prices() ? guard.cost(capacity, capacity.after(shape, option.leastMilli())) : 0;
    return option.stranded() + price;
  }

  /** Returns the options of each node that has been evaluated for the shape by now. */
  private Map<FreeCapacity, Option[]> options(Shape shape, List<FreeCapacity> capacities) {
    if (knownCount >= KNOWN_MAX) {
      forget();
    }
    Map<FreeCapacity, Option[]> options = known.computeIfAbsent(shape, s -> new HashMap<>());
    var fresh = new LinkedHashSet<FreeCapacity>();
    for (FreeCapacity capacity : capacities) {
      if (!options.containsKey(capacity)) {
        fresh.add(capacity);
      }
    }
    for (FreeCapacity capacity : tightest(shape, fresh)) {
      options.put(capacity, compute(capacity, shape));
      knownCount++;
    }
    return options;
  }

  /** Returns the nodes that fit most tightly: a good guess if there is no time to evaluate all. */
  private static List<FreeCapacity> tightest(Shape shape, Set<FreeCapacity> capacities) {
    if (capacities.size() <= FRESH_MAX) {
      return List.copyOf(capacities);
    }
    return capacities.stream()
        .sorted(
            Comparator.comparingInt((FreeCapacity capacity) -> capacity.leftover(shape))
                .thenComparingInt(FreeCapacity::freeMilli))
        .limit(FRESH_MAX)
        .toList();
  }

  /** Returns an option for each different amount that is free on a GPU, if enough GPUs have it. */
  private Option[] compute(FreeCapacity capacity, Shape shape) {
    if (shape.count() == 0) {
      return new Option[] {option(capacity, shape, 0)};
    }
    var found = new ArrayList<Option>();
    int[] gpus = capacity.gpuMilli();
    for (int i = 0; i + shape.count() <= gpus.length; i++) {
      if (gpus[i] >= shape.milli() && (i == 0 || gpus[i] != gpus[i - 1])) {
        found.add(option(capacity, shape, gpus[i]));
      }
    }
    return found.toArray(NONE);
  }

  private Option option(FreeCapacity capacity, Shape shape, int leastMilli) {
    return new Option(
        leastMilli, stranding.of(capacity.after(shape, leastMilli)) - stranding.of(capacity));
  }
}
