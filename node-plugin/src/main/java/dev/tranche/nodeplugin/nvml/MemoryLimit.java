package dev.tranche.nodeplugin.nvml;

/**
 * How much of a GPU's memory the processes of a cgroup can have.
 *
 * @param softBytes kept for them; only an MPS server acts on it
 * @param hardBytes an allocation beyond it fails; unsigned, so -1 is no limit
 */
public record MemoryLimit(long softBytes, long hardBytes) {
  public static final MemoryLimit NONE = new MemoryLimit(0, -1);

  /** Returns a limit that keeps nothing for its processes. */
  public static MemoryLimit hard(long bytes) {
    return new MemoryLimit(0, bytes);
  }

  /**
   * A limit as the driver tells it.
   *
   * @param usedBytes what counts against it
   */
  public record Reading(MemoryLimit limit, long usedBytes) {}
}
