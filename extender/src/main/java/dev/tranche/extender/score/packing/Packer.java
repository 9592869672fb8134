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
 * Chooses the room, which is one node's {@link FreeCapacity}, that loses least by taking a pod, and
 * the GPUs in it. The loss is the added {@link Stranding} plus the price of {@link
 * LargePodReserve}. It learns from the pods that it counts.
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

  /** Limit of cached rooms, counted for each shape; some 20 MB. */
  private static final int KNOWN_MAX = 100_000;

  /** The most rooms that are evaluated anew for one choice, since others wait for its answer. */
  static final int FRESH_MAX = 64;

  private final Shapes shapes = new Shapes();
  private final LargePodReserve guard = new LargePodReserve(shapes);
  private Stranding stranding = new Stranding(List.of(), new double[0]);
  private int counted;
  private int learnAt;

  private final Map<Shape, Map<FreeCapacity, List<Option>>> known = new HashMap<>();
  private int knownRooms;

  private record Option(int leastMilli, double stranded) {}

  /**
   * @param index of the room
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
    knownRooms = 0;
  }

  /** Returns the number of different shapes. */
  public int shapes() {
    return shapes.size();
  }

  /** Returns the room that loses least, the first among equals; empty if none takes the pod. */
  public Optional<Choice> choose(Shape shape, List<FreeCapacity> rooms) {
    return best(shape, rooms, 0).stream().findFirst();
  }

  /** Returns the indexes of all rooms that lose least by taking a pod without GPUs. */
  public List<Integer> cheapest(Shape shape, List<FreeCapacity> rooms) {
    return best(shape, rooms, SAME_MILLI).stream().map(Choice::index).toList();
  }

  /**
   * Returns the choices that lose least, in the order of the rooms.
   *
   * @param same costs that differ by less than this count as equal; 0: only the first is kept
   */
  private List<Choice> best(Shape shape, List<FreeCapacity> rooms, double same) {
    guard.price(rooms);
    Map<FreeCapacity, List<Option>> options = options(shape, rooms);
    var best = new ArrayList<Choice>();
    double least = Double.POSITIVE_INFINITY;
    for (int i = 0; i < rooms.size(); i++) {
      FreeCapacity room = rooms.get(i);
      for (Option option : options.getOrDefault(room, List.of())) {
        // The price is computed only where it could decide.
        boolean close = option.stranded() < least + same;
        double cost = close ? cost(room, shape, option) : Double.POSITIVE_INFINITY;
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

  private double cost(FreeCapacity room, Shape shape, Option option) {
    double price = guard.prices() ? guard.cost(room, room.after(shape, option.leastMilli())) : 0;
    return option.stranded() + price;
  }

  /** Returns the options of each room that has been evaluated for the shape by now. */
  private Map<FreeCapacity, List<Option>> options(Shape shape, List<FreeCapacity> rooms) {
    if (knownRooms >= KNOWN_MAX) {
      forget();
    }
    Map<FreeCapacity, List<Option>> options = known.computeIfAbsent(shape, s -> new HashMap<>());
    var fresh = new LinkedHashSet<FreeCapacity>();
    for (FreeCapacity room : rooms) {
      if (!options.containsKey(room)) {
        fresh.add(room);
      }
    }
    for (FreeCapacity room : tightest(shape, fresh)) {
      options.put(room, compute(room, shape));
      knownRooms++;
    }
    return options;
  }

  /** Returns the rooms that fit most tightly: a good guess if there is no time to evaluate all. */
  private static List<FreeCapacity> tightest(Shape shape, Set<FreeCapacity> rooms) {
    if (rooms.size() <= FRESH_MAX) {
      return List.copyOf(rooms);
    }
    return rooms.stream()
        .sorted(
            Comparator.comparingInt((FreeCapacity room) -> room.leftover(shape))
                .thenComparingInt(FreeCapacity::freeMilli))
        .limit(FRESH_MAX)
        .toList();
  }

  /** Returns an option for each different amount that is free on a GPU, if enough GPUs have it. */
  private List<Option> compute(FreeCapacity room, Shape shape) {
    if (shape.count() == 0) {
      return List.of(option(room, shape, 0));
    }
    var found = new ArrayList<Option>();
    int[] gpus = room.gpuMilli();
    for (int i = 0; i + shape.count() <= gpus.length; i++) {
      if (gpus[i] >= shape.milli() && (i == 0 || gpus[i] != gpus[i - 1])) {
        found.add(option(room, shape, gpus[i]));
      }
    }
    return List.copyOf(found);
  }

  private Option option(FreeCapacity room, Shape shape, int leastMilli) {
    return new Option(leastMilli, stranding.of(room.after(shape, leastMilli)) - stranding.of(room));
  }
}
