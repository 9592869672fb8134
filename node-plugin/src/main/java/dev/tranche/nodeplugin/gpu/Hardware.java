package dev.tranche.nodeplugin.gpu;

/**
 * What a node has beside its GPUs.
 *
 * @param nodes device nodes
 * @param closeness of the GPUs to each other
 */
public record Hardware(String driverVersion, HostNodes nodes, GpuLinkScores closeness) {
  /** Before a driver has started. */
  public static final Hardware NONE = new Hardware("", HostNodes.NONE, GpuLinkScores.UNKNOWN);
}
