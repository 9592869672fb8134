package dev.tranche.nodeplugin.kubelet;

import dev.tranche.nodeplugin.gpu.GpuLinkScores;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.limit.NodeLimits;

/**
 * What a node has apart from the GPUs themselves.
 *
 * @param nodes device nodes
 * @param linkScores between the GPUs
 * @param limits whether memory can be limited
 */
public record Hardware(
    String driverVersion, HostNodes nodes, GpuLinkScores linkScores, NodeLimits limits) {
  /** Before a driver has started. */
  public static final Hardware NONE =
      new Hardware("", HostNodes.NONE, GpuLinkScores.UNKNOWN, NodeLimits.NONE);

  /** NVML has started, with another driver than before. */
  public Hardware started(String driver, HostNodes now) {
    return new Hardware(driver, now, GpuLinkScores.UNKNOWN, limits);
  }

  public Hardware withNodes(HostNodes now) {
    return new Hardware(driverVersion, now, linkScores, limits);
  }

  public Hardware withLinkScores(GpuLinkScores now) {
    return new Hardware(driverVersion, nodes, now, limits);
  }

  public Hardware withLimits(NodeLimits now) {
    return new Hardware(driverVersion, nodes, linkScores, now);
  }
}
