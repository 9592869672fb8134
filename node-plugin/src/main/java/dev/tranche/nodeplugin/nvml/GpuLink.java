package dev.tranche.nodeplugin.nvml;

/**
 * How two GPUs are connected.
 *
 * @param nvLinks number of direct NVLinks between them
 * @param level NVML's, of the common ancestor of their PCIe paths: 0 for one board, and ten more
 *     for each step away; {@link #UNKNOWN_LEVEL} where NVML does not tell
 */
public record GpuLink(int nvLinks, int level) {
  public static final int UNKNOWN_LEVEL = -1;

  /** The level of one NUMA node. */
  public static final int ONE_NODE = 40;

  /** The farthest level: they are on different NUMA nodes. */
  public static final int SYSTEM = 50;

  public static final GpuLink UNKNOWN = new GpuLink(0, UNKNOWN_LEVEL);
}
