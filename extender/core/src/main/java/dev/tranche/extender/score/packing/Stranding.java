package dev.tranche.extender.score.packing;

import dev.tranche.api.AllowList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Estimates how much of a node's free GPU capacity later pods cannot use. The estimate is the mean
 * of what stays free after a few random fills, plus half of two measures. One is what the next pod
 * could not use ("Beware of Fragmentation", USENIX ATC 2023); the other is what a run of one shape
 * would leave. The fills show how shapes combine, and the measures have no noise. Later pods are
 * expected to have the shapes seen and, always, {@link #EXPECTED}.
 */
final class Stranding {
  private static final int FILLS = 16;
  private static final int PODS_PER_FILL = 60;
  private static final double MEASURES_WEIGHT = 0.5;

  /** Limit of cached nodes, some 20 MB; beyond it all are computed anew. */
  static final int CAPACITIES_MAX = 100_000;

  /** A node may report another model each time. */
  static final int MODELS_MAX = 1_024;

  /**
   * A pod that may always come: if small pods come first, nothing else keeps whole GPUs free, with
   * CPU beside them. The smallest machines with a GPU can take it. Traces changed in this way are
   * packed equally well with 3 to 6 CPUs, and worse with 2 or 8.
   */
  private static final Shape EXPECTED =
      new Shape(3_000, 12_288, 1, Shape.WHOLE_MILLI, AllowList.ANY);

  /** The part of {@link #EXPECTED} in all later pods; 1 while nothing was seen. */
  private static final double EXPECTED_WEIGHT = 0.3;

  private final Shape[] shapes;
  private final double[] weights;

  /** Indexes of shapes. */
  private final int[][] fills = new int[FILLS][PODS_PER_FILL];

  final Map<String, boolean[]> admitted = new HashMap<>();
  private final Map<FreeCapacity, Double> known = new HashMap<>();
  private final int leastMilli;

  /**
   * @param seen the shapes seen
   * @param frequencies of these shapes; they add up to 1
   */
  Stranding(List<Shape> seen, double[] frequencies) {
    var all = new ArrayList<>(seen);
    all.add(EXPECTED);
    shapes = all.toArray(Shape[]::new);
    weights = Arrays.copyOf(frequencies, shapes.length);
    for (int i = 0; i < frequencies.length; i++) {
      weights[i] *= 1 - EXPECTED_WEIGHT;
    }
    weights[frequencies.length] = seen.isEmpty() ? 1 : EXPECTED_WEIGHT;
    leastMilli = all.stream().mapToInt(Shape::totalMilli).min().orElse(0);
    // The same seed each time: nodes must be compared by the same fills.
    var random = new Random(1);
    for (int[] fill : fills) {
      Arrays.setAll(fill, i -> at(random.nextDouble()));
    }
  }

  private int at(double quantile) {
    double sum = 0;
    for (int i = 0; i < weights.length; i++) {
      sum += weights[i];
      if (quantile < sum) {
        return i;
      }
    }
    return weights.length - 1;
  }

  /** Returns the estimate, in thousandths of a GPU. */
  double of(FreeCapacity capacity) {
    Double before = known.get(capacity);
    if (before != null) {
      return before;
    }
    if (known.size() >= CAPACITIES_MAX) {
      known.clear();
    }
    double stranded = compute(capacity);
    known.put(capacity, stranded);
    return stranded;
  }

  private double compute(FreeCapacity capacity) {
    int free = capacity.freeMilli();
    if (admitted.size() >= MODELS_MAX) {
      admitted.clear();
    }
    boolean[] admits = admitted.computeIfAbsent(capacity.model(), this::admitted);
    double measures = 0;
    for (int i = 0; i < weights.length; i++) {
      Shape shape = shapes[i];
      int fitting = admits[i] ? capacity.fittingPods(shape) : 0;
      double repeated = free - (double) fitting * shape.totalMilli();
      measures += weights[i] * ((fitting == 0 ? free : tooSmall(capacity, shape)) + repeated);
    }
    double left = 0;
    for (int[] fill : fills) {
      left += filled(capacity, fill, admits);
    }
    return left / FILLS + MEASURES_WEIGHT * measures;
  }

  private boolean[] admitted(String model) {
    boolean[] admits = new boolean[shapes.length];
    for (int i = 0; i < admits.length; i++) {
      admits[i] = shapes[i].models().admitsModel(model);
    }
    return admits;
  }

  private static int tooSmall(FreeCapacity capacity, Shape shape) {
    int small = 0;
    for (int gpu : capacity.gpuMilli()) {
      small += gpu < shape.milli() ? gpu : 0;
    }
    return small;
  }

  private int filled(FreeCapacity capacity, int[] fill, boolean[] admits) {
    int[] gpus = capacity.gpuMilli().clone();
    long cpuMilli = capacity.cpuMilli();
    long memoryMib = capacity.memoryMib();
    int free = capacity.freeMilli();
    for (int i = 0; i < fill.length && free >= leastMilli; i++) {
      Shape shape = shapes[fill[i]];
      if (shape.cpuMilli() <= cpuMilli
          && shape.memoryMib() <= memoryMib
          && shape.totalMilli() <= free
          && admits[fill[i]]
          && (shape.large() ? takeSeveral(gpus, shape) : takeOne(gpus, shape))) {
        cpuMilli -= shape.cpuMilli();
        memoryMib -= shape.memoryMib();
        free -= shape.totalMilli();
      }
    }
    return free;
  }

  /** Takes the fullest GPU that fits. */
  private static boolean takeOne(int[] gpus, Shape shape) {
    int fullest = -1;
    for (int i = 0; i < gpus.length; i++) {
      if (gpus[i] >= shape.milli() && (fullest < 0 || gpus[i] < gpus[fullest])) {
        fullest = i;
      }
    }
    if (fullest >= 0) {
      gpus[fullest] -= shape.milli();
    }
    return fullest >= 0;
  }

  /** Takes any GPUs that fit, which are mostly whole ones. */
  private static boolean takeSeveral(int[] gpus, Shape shape) {
    int fitting = 0;
    for (int gpu : gpus) {
      fitting += gpu >= shape.milli() ? 1 : 0;
    }
    if (fitting < shape.count()) {
      return false;
    }
    int needed = shape.count();
    for (int i = 0; i < gpus.length && needed > 0; i++) {
      if (gpus[i] >= shape.milli()) {
        gpus[i] -= shape.milli();
        needed--;
      }
    }
    return true;
  }
}
