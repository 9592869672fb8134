package dev.tranche.nodeplugin.nvml;

/**
 * How two GPUs are connected.
 *
 * @param nvLinks number of direct NVLinks between them
 */
public record GpuLink(int nvLinks, Ancestor ancestor) {
  public static final GpuLink UNKNOWN = new GpuLink(0, Ancestor.UNKNOWN);

  /** The common ancestor of their PCIe paths, from the farthest to the nearest. */
  public enum Ancestor {
    UNKNOWN,
    /** They are on different NUMA nodes. */
    SYSTEM,
    NUMA_NODE,
    HOST_BRIDGE,
    SEVERAL_SWITCHES,
    ONE_SWITCH,
    BOARD
  }
}
