package dev.tranche.extender.score.packing;

import java.util.Arrays;

/**
 * What is left of a node, without its name: nodes with equal rooms are worth the same.
 *
 * @param model of its GPUs
 * @param gpuMilli free thousandths of each GPU, ascending; not to be changed
 */
@SuppressWarnings("ArrayRecordComponent") // Compared below; a list would box what is read most.
public record FreeCapacity(String model, long cpuMilli, long memoryMib, int[] gpuMilli) {
  public FreeCapacity {
    gpuMilli = gpuMilli.clone();
    Arrays.sort(gpuMilli);
  }

  int freeMilli() {
    int free = 0;
    for (int gpu : gpuMilli) {
      free += gpu;
    }
    return free;
  }

  /** Whether nobody has a share of its GPUs. */
  boolean unused() {
    return gpuMilli.length > 0 && gpuMilli[0] == Shape.WHOLE_MILLI;
  }

  /**
   * What the shares of a pod would leave of the last of the fullest GPUs that have room for them:
   * the less, the tighter it fits. A pod without GPUs leaves nothing where there are none.
   */
  int leftover(Shape shape) {
    if (gpuMilli.length == 0 && shape.count() == 0) {
      return -1;
    }
    int first = 0;
    while (first < gpuMilli.length && gpuMilli[first] < shape.milli()) {
      first++;
    }
    int last = first + Math.max(1, shape.count()) - 1;
    return last < gpuMilli.length ? gpuMilli[last] - shape.milli() : Integer.MAX_VALUE;
  }

  /** How many pods of a shape with GPUs fit side by side, were there no others. */
  int fittingPods(Shape shape) {
    long byHost = Math.min(times(cpuMilli, shape.cpuMilli()), times(memoryMib, shape.memoryMib()));
    if (!shape.large()) {
      return (int) Math.min(byHost, shares(shape, Integer.MAX_VALUE));
    }
    int pods = 0;
    while (pods < byHost && shares(shape, pods + 1) >= (pods + 1) * shape.count()) {
      pods++;
    }
    return pods;
  }

  /** Shares that the GPUs have room for, so many of one GPU at most: a pod's are apart. */
  private int shares(Shape shape, int perGpuMax) {
    int shares = 0;
    for (int free : gpuMilli) {
      shares += Math.min(perGpuMax, free / shape.milli());
    }
    return shares;
  }

  private static long times(long free, long each) {
    return each == 0 ? Long.MAX_VALUE : Math.max(0, free) / each;
  }

  /**
   * The room that is left once a pod of the shape is on the fullest GPUs that have at least {@code
   * leastMilli} free. There must be enough of them.
   */
  FreeCapacity after(Shape shape, int leastMilli) {
    int[] left = gpuMilli.clone();
    int needed = shape.count();
    for (int i = 0; i < left.length && needed > 0; i++) {
      if (left[i] >= leastMilli) {
        left[i] -= shape.milli();
        needed--;
      }
    }
    return new FreeCapacity(
        model, cpuMilli - shape.cpuMilli(), memoryMib - shape.memoryMib(), left);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof FreeCapacity room
        && cpuMilli == room.cpuMilli
        && memoryMib == room.memoryMib
        && model.equals(room.model)
        && Arrays.equals(gpuMilli, room.gpuMilli);
  }

  @Override
  public int hashCode() {
    long host = cpuMilli * 31 + memoryMib;
    return (Long.hashCode(host) * 31 + Arrays.hashCode(gpuMilli)) * 31 + model.hashCode();
  }
}
