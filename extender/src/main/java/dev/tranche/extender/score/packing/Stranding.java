package dev.tranche.extender.score.packing;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * How much of a room's free GPU pods of the shapes seen will not get to use: the mean of what stays
 * free after a few random fills, plus half of what the next pod could not use (the measure of
 * "Beware of Fragmentation", USENIX ATC 2023) and half of what a run of one shape would leave. The
 * fills see how shapes go together, the other two are without noise.
 */
final class Stranding {
  private static final int FILLS = 16;
  private static final int PODS_PER_FILL = 60;
  private static final double MEASURES_WEIGHT = 0.5;

  /** Some 20 MB; beyond it all are computed anew. */
  static final int ROOMS_MAX = 100_000;

  private final List<Shape> shapes;
  private final double[] weights;
  private final Shape[][] fills = new Shape[FILLS][PODS_PER_FILL];
  private final Map<String, Map<Shape, Boolean>> admitted = new HashMap<>();
  private final Map<Room, Double> known = new HashMap<>();

  /**
   * @param weights of the shapes, in sum 1
   */
  Stranding(List<Shape> shapes, double[] weights) {
    this.shapes = List.copyOf(shapes);
    this.weights = weights.clone();
    // The same seed each time: rooms must be compared by the same fills.
    var random = new Random(1);
    for (Shape[] fill : fills) {
      for (int i = 0; i < fill.length && !this.shapes.isEmpty(); i++) {
        fill[i] = at(random.nextDouble());
      }
    }
  }

  private Shape at(double quantile) {
    double sum = 0;
    for (int i = 0; i < weights.length; i++) {
      sum += weights[i];
      if (quantile < sum) {
        return shapes.get(i);
      }
    }
    return shapes.getLast();
  }

  /** In thousandths of a GPU. */
  double of(Room room) {
    Double before = known.get(room);
    if (before != null) {
      return before;
    }
    if (known.size() >= ROOMS_MAX) {
      known.clear();
    }
    double stranded = shapes.isEmpty() ? 0 : compute(room);
    known.put(room, stranded);
    return stranded;
  }

  private double compute(Room room) {
    int free = room.freeMilli();
    double measures = 0;
    for (int i = 0; i < weights.length; i++) {
      Shape shape = shapes.get(i);
      int holds = admits(room, shape) ? room.holds(shape) : 0;
      double repeated = free - (double) holds * shape.totalMilli();
      measures += weights[i] * ((holds == 0 ? free : tooSmall(room, shape)) + repeated);
    }
    double left = 0;
    for (Shape[] fill : fills) {
      left += filled(room, fill);
    }
    return left / FILLS + MEASURES_WEIGHT * measures;
  }

  private boolean admits(Room room, Shape shape) {
    return admitted
        .computeIfAbsent(room.model(), model -> new HashMap<>())
        .computeIfAbsent(shape, s -> s.models().admits(room.model()));
  }

  private static int tooSmall(Room room, Shape shape) {
    int small = 0;
    for (int gpu : room.gpuMilli()) {
      small += gpu < shape.milli() ? gpu : 0;
    }
    return small;
  }

  private int filled(Room room, Shape[] fill) {
    int[] gpus = room.gpuMilli().clone();
    long cpuMilli = room.cpuMilli();
    long memoryMib = room.memoryMib();
    int free = room.freeMilli();
    for (Shape shape : fill) {
      if (shape.cpuMilli() <= cpuMilli
          && shape.memoryMib() <= memoryMib
          && shape.totalMilli() <= free
          && admits(room, shape)
          && take(gpus, shape)) {
        cpuMilli -= shape.cpuMilli();
        memoryMib -= shape.memoryMib();
        free -= shape.totalMilli();
      }
    }
    return free;
  }

  /** On the fullest GPU that has room; several are whole as a rule, so any do. */
  private static boolean take(int[] gpus, Shape shape) {
    return shape.large() ? takeSeveral(gpus, shape) : takeOne(gpus, shape);
  }

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
