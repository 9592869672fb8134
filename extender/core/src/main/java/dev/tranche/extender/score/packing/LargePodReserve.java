package dev.tranche.extender.score.packing;

import dev.tranche.api.AllowList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Keeps the last nodes for pods of several GPUs, which are rare: tight packing alone would starve
 * them. A node that could take one has a price. It is the GPUs of such a pod, times the chance that
 * at least as many of them come as there are nodes. Besides the shapes seen, almost the whole of
 * each kind of node counts as one that may come.
 */
final class LargePodReserve {
  private static final int KINDS_MAX = 32;
  private static final int GUARDED_MAX = 64;

  /** Limit of cached nodes; some 10 MB. */
  private static final int CAPACITIES_MAX = 30_000;

  /** The part of a node that a whole-node pod requests; the rest is for the system's own pods. */
  private static final double ALMOST = 0.95;

  /** More than packing gains or loses by one choice. */
  private static final double PRICE = 10;

  /**
   * While no pod of so many GPUs was seen, the only reason to keep a node free is that one might
   * need it whole. Other pods avoid it if that costs little.
   */
  private static final double UNSEEN_PRICE = 0.02;

  /** The assumption before anything is seen: one such pod in a thousand, very uncertain. */
  private static final double PRIOR_PODS = 0.5;

  private static final double PRIOR_OF = 500;

  private final Shapes shapes;
  private final Map<String, Shape> kinds = new LinkedHashMap<>();
  private final Map<FreeCapacity, int[]> known = new HashMap<>();
  private List<Guarded> guarded = List.of();
  private double[] prices = {};
  private boolean relist = true;

  /**
   * @param pods the number of pods that needed at least as much
   * @param unseen whether no pod of so many GPUs was seen
   */
  private record Guarded(Shape shape, int pods, boolean unseen) {}

  LargePodReserve(Shapes shapes) {
    this.shapes = shapes;
  }

  /** Records that a pod was counted. */
  void counted(Shape shape) {
    relist |= shape.large();
  }

  /** Sets the prices for a choice among these nodes. */
  void price(List<FreeCapacity> capacities) {
    for (FreeCapacity capacity : capacities) {
      if (capacity.unused() && !known.containsKey(capacity)) {
        learn(capacity);
      }
    }
    if (relist) {
      list();
    }
    long[] held = new long[guarded.size()];
    double freeMilli = 0;
    for (FreeCapacity capacity : capacities) {
      freeMilli += capacity.freeMilli();
      int[] holds = fittingPods(capacity);
      for (int i = 0; i < held.length; i++) {
        held[i] += holds[i];
      }
    }
    double toCome = freeMilli / shapes.meanMilli();
    prices = new double[held.length];
    for (int i = 0; i < prices.length; i++) {
      Guarded each = guarded.get(i);
      double price = PRICE * chance(held[i], each.pods, toCome) + (each.unseen ? UNSEEN_PRICE : 0);
      prices[i] = price * each.shape.totalMilli();
    }
  }

  /** Returns whether there is any price now. */
  boolean prices() {
    return Arrays.stream(prices).anyMatch(price -> price > 0);
  }

  /** Returns the cost to large pods if a node's capacity changes, by the last prices. */
  double cost(FreeCapacity before, FreeCapacity after) {
    int[] had = fittingPods(before);
    int[] has = fittingPods(after);
    double cost = 0;
    for (int i = 0; i < prices.length; i++) {
      if (has[i] < had[i]) {
        cost = Math.max(cost, prices[i] * (had[i] - has[i]));
      }
    }
    return cost;
  }

  private void learn(FreeCapacity capacity) {
    int count = capacity.gpuMilli().length;
    if (count < 2) {
      return;
    }
    var whole =
        new Shape(
            (long) (capacity.cpuMilli() * ALMOST),
            (long) (capacity.memoryMib() * ALMOST),
            count,
            Shape.WHOLE_MILLI,
            AllowList.ANY);
    String kind = capacity.model() + "/" + count;
    Shape before = kinds.get(kind);
    if ((before == null && kinds.size() < KINDS_MAX)
        || (before != null && !before.covers(whole) && whole.covers(before))) {
      kinds.put(kind, whole);
      relist = true;
    }
  }

  private void list() {
    relist = false;
    known.clear();
    int largest = shapes.large().stream().mapToInt(Shape::count).max().orElse(0);
    guarded =
        Stream.concat(kinds.values().stream(), shapes.large().stream())
            .distinct()
            .limit(GUARDED_MAX)
            .map(shape -> new Guarded(shape, shapes.covering(shape), largest < shape.count()))
            .toList();
  }

  /** Returns the chance that at least as many pods come as there are places. */
  private double chance(long places, int podCount, double toCome) {
    return atLeast(places, podCount + PRIOR_PODS, toCome / (toCome + shapes.total() + PRIOR_OF));
  }

  private int[] fittingPods(FreeCapacity capacity) {
    if (known.size() >= CAPACITIES_MAX) {
      known.clear();
    }
    int[] before = known.get(capacity);
    if (before != null) {
      return before;
    }
    int[] pods =
        guarded.stream()
            .map(Guarded::shape)
            .mapToInt(s -> s.models().admitsModel(capacity.model()) ? capacity.fittingPods(s) : 0)
            .toArray();
    known.put(capacity, pods);
    return pods;
  }

  /**
   * Returns the chance of at least this number. It is negative binomial, since the rate itself is
   * only estimated.
   *
   * @param strength how many were seen, with the prior
   * @param part the pods that are yet to come, as a part of all with the prior
   */
  static double atLeast(long number, double strength, double part) {
    double mean = strength * part / (1 - part);
    double deviation = Math.sqrt(mean / (1 - part));
    if (number > mean + 12 * deviation + 12) {
      return 0;
    }
    double chance = Math.pow(1 - part, strength);
    double fewer = 0;
    for (long i = 0; i < number; i++) {
      fewer += chance;
      chance *= (strength + i) / (i + 1) * part;
    }
    return Math.max(0, 1 - fewer);
  }
}
