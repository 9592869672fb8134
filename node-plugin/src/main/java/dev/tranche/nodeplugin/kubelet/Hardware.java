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

  /** NVML has started; whether memory can be limited is read later. */
  public Hardware started(String driver, HostNodes found, GpuLinkScores links) {
    return new Hardware(driver, found, links, limits);
  }

  public Hardware withNodes(HostNodes now) {
    return new Hardware(driverVersion, now, linkScores, limits);
  }

  public Hardware withLimits(NodeLimits now) {
    return new Hardware(driverVersion, nodes, linkScores, now);
  }
}
