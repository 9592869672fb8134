package dev.tranche.nodeplugin.kubelet;

import dev.tranche.nodeplugin.gpu.GpuLinkScores;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.limit.ContainerLimit;
import dev.tranche.nodeplugin.limit.NodeLimits;
import java.util.List;

/**
 * What a node has apart from the GPUs themselves.
 *
 * @param nodes device nodes
 * @param linkScores between the GPUs
 * @param limits whether memory can be limited
 * @param containerLimits of running containers, as last read back
 */
public record Hardware(
    String driverVersion,
    HostNodes nodes,
    GpuLinkScores linkScores,
    NodeLimits limits,
    List<ContainerLimit> containerLimits) {
  /** Before a driver has started. */
  public static final Hardware NONE =
      new Hardware("", HostNodes.NONE, GpuLinkScores.UNKNOWN, NodeLimits.NONE, List.of());

  /** NVML has started; limits are read later. */
  public Hardware started(String driver, HostNodes found, GpuLinkScores links) {
    return new Hardware(driver, found, links, limits, containerLimits);
  }

  public Hardware withNodes(HostNodes now) {
    return new Hardware(driverVersion, now, linkScores, limits, containerLimits);
  }

  public Hardware withLimits(NodeLimits now, List<ContainerLimit> read) {
    return new Hardware(driverVersion, nodes, linkScores, now, read);
  }
}
