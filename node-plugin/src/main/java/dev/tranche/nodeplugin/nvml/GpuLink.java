package dev.tranche.nodeplugin.nvml;

/**
 * How two GPUs are connected.
 *
 * @param nvLinks direct ones between them
 */
public record GpuLink(int nvLinks, Ancestor ancestor) {
  public static final GpuLink UNKNOWN = new GpuLink(0, Ancestor.UNKNOWN);

  /** What their PCIe paths have in common, the nearer the later. */
  public enum Ancestor {
    UNKNOWN,
    /** Another NUMA node. */
    SYSTEM,
    NUMA_NODE,
    HOST_BRIDGE,
    SEVERAL_SWITCHES,
    ONE_SWITCH,
    BOARD
  }
}
