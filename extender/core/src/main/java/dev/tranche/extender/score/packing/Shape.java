package dev.tranche.extender.score.packing;

import dev.tranche.api.AllowList;

/**
 * What one pod takes of a node; pods of equal shape are treated alike.
 *
 * @param count number of different GPUs; 0 for a pod without any
 * @param milli thousandths of each GPU
 * @param models that it may run on
 */
public record Shape(long cpuMilli, long memoryMib, int count, int milli, AllowList models) {
  static final int WHOLE_MILLI = 1_000;

  /** Returns the shape of a pod that requests no GPU. */
  public static Shape withoutGpu(long cpuMilli, long memoryMib) {
    return new Shape(cpuMilli, memoryMib, 0, 0, AllowList.ANY);
  }

  int totalMilli() {
    return count * milli;
  }

  /** Returns whether the pod needs several GPUs. */
  boolean large() {
    return count > 1;
  }

  /** Returns whether all that can take this pod can take the other as well, models aside. */
  boolean covers(Shape other) {
    return count >= other.count
        && milli >= other.milli
        && cpuMilli >= other.cpuMilli
        && memoryMib >= other.memoryMib;
  }
}
