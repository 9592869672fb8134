package dev.tranche.nodeplugin.gpu;

/**
 * What a node has apart from the GPUs themselves.
 *
 * @param nodes device nodes
 * @param linkScores between the GPUs
 */
public record Hardware(String driverVersion, HostNodes nodes, GpuLinkScores linkScores) {
  /** Before a driver has started. */
  public static final Hardware NONE = new Hardware("", HostNodes.NONE, GpuLinkScores.UNKNOWN);
}
