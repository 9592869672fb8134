package dev.tranche.webhook;

import dev.tranche.webhook.nodes.GpuNode;
import java.util.List;

/**
 * The part of the configuration that decides about pods.
 *
 * @param resources those we advertise; fractions become replicas of the first
 * @param defaultReplicasPerGpu R where no labelled node admits the pod
 * @param schedulerName that pods which ask for a resource of ours are sent to; empty: left alone
 * @param runtimeClass that they get where it exists; empty: left alone
 */
public record MutationRules(
    List<String> resources, int defaultReplicasPerGpu, String schedulerName, String runtimeClass) {
  public MutationRules {
    resources = List.copyOf(resources);
    if (resources.isEmpty() || defaultReplicasPerGpu < 1) {
      throw new IllegalArgumentException("a resource and at least 1 replica per GPU are needed");
    }
  }

  /**
   * What the cluster looks like at the moment of admission.
   *
   * @param nodes those labelled with their replicas per GPU
   * @param runtimeClassExists the one named above
   */
  public record Cluster(List<GpuNode> nodes, boolean runtimeClassExists) {
    public Cluster {
      nodes = List.copyOf(nodes);
    }
  }
}
