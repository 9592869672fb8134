package dev.tranche.extender.score.packing;

import java.util.Arrays;

/**
 * What is free on a node, without its name: nodes with equal capacity are worth the same.
 *
 * @param model of its GPUs
 * @param gpuMilli free thousandths of each GPU, ascending; must not be changed
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

  /** Returns whether the node has GPUs and no pod has a share of them. */
  boolean unused() {
    return gpuMilli.length > 0 && gpuMilli[0] == Shape.WHOLE_MILLI;
  }

  /**
   * Returns what stays free on the last GPU if a pod takes the fullest GPUs that fit: the less, the
   * tighter. It is -1 if neither pod nor node has GPUs, and the largest number if the pod does not
   * fit.
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

  /** Returns how many pods of a shape with GPUs fit together, if there are no others. */
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

  /** Returns how many shares fit, at most {@code perGpuMax} per GPU: a pod's are kept apart. */
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
   * Returns the capacity that is left with a pod of the shape on the fullest GPUs that have at
   * least {@code leastMilli} free. There must be enough of them.
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
    return other instanceof FreeCapacity capacity
        && cpuMilli == capacity.cpuMilli
        && memoryMib == capacity.memoryMib
        && model.equals(capacity.model)
        && Arrays.equals(gpuMilli, capacity.gpuMilli);
  }

  @Override
  public int hashCode() {
    long host = cpuMilli * 31 + memoryMib;
    return (Long.hashCode(host) * 31 + Arrays.hashCode(gpuMilli)) * 31 + model.hashCode();
  }
}
