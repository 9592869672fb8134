package dev.tranche.nodeplugin.mps;

/**
 * One GPU that is shared by MPS.
 *
 * @param memoryBytes its whole memory, as NVIDIA's plugin divides it; 0: unknown
 * @param replicas R, at least 1
 */
record MpsGpu(String uuid, long memoryBytes, int replicas) {
  private static final int PERCENT = 100;

  MpsGpu {
    if (replicas < 1) {
      throw new IllegalArgumentException(uuid + " has at least 1 replica, not " + replicas);
    }
  }

  /**
   * Returns the memory that a client with {@code share} replicas may pin, in MPS's format: "1536M".
   */
  String memoryLimit(int share) {
    return ((memoryBytes * share / replicas) >> 20) + "M";
  }

  /** Returns the percentage of the GPU's threads for {@code share} replicas, 1 to 100. */
  int threadPercentage(int share) {
    return Math.max(1, PERCENT * share / replicas);
  }
}
