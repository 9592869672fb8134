package dev.tranche.extender.score.packing;

import dev.tranche.api.AllowList;

/**
 * What one pod takes of a node: pods of equal shape are the same to us.
 *
 * @param count of different GPUs; 0: a pod without
 * @param milli thousandths of each
 * @param models that it may run on
 */
public record Shape(long cpuMilli, long memoryMib, int count, int milli, AllowList models) {
  static final int WHOLE_MILLI = 1_000;

  public Shape {
    boolean share = count == 0 ? milli == 0 : count > 0 && milli >= 1 && milli <= WHOLE_MILLI;
    if (cpuMilli < 0 || memoryMib < 0 || !share) {
      throw new IllegalArgumentException(
          "no pod takes %d times %d milli of a GPU with %d milli of CPU and %d MiB"
              .formatted(count, milli, cpuMilli, memoryMib));
    }
  }

  /** Of a pod that asks for no GPU. */
  public static Shape withoutGpu(long cpuMilli, long memoryMib) {
    return new Shape(cpuMilli, memoryMib, 0, 0, AllowList.ANY);
  }

  int totalMilli() {
    return count * milli;
  }

  /** Whether it cannot lie on one GPU. */
  boolean large() {
    return count > 1;
  }

  /** Whatever takes this pod would take the other as well, models aside. */
  boolean covers(Shape other) {
    return count >= other.count
        && milli >= other.milli
        && cpuMilli >= other.cpuMilli
        && memoryMib >= other.memoryMib;
  }
}
