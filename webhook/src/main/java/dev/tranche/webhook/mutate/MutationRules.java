package dev.tranche.webhook.mutate;

import dev.tranche.webhook.compat.SharingSystem;
import dev.tranche.webhook.nodes.GpuNode;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The part of the configuration that decides about pods.
 *
 * @param resources those we advertise; fractions become replicas of the first
 * @param defaultReplicasPerGpu R where no labelled node admits the pod
 * @param schedulerName that pods which ask for a resource of ours are sent to; empty: left alone
 * @param runtimeClass that they get where it exists; empty: left alone
 * @param memory of GPUs where nodes do not say all of it
 * @param dialects other systems whose words are understood
 * @param plainRequests what a number of the first resource counts on a pod that asks by it
 */
public record MutationRules(
    List<String> resources,
    int defaultReplicasPerGpu,
    String schedulerName,
    String runtimeClass,
    Memory memory,
    Set<SharingSystem> dialects,
    PlainRequests plainRequests) {
  public MutationRules {
    if (resources.isEmpty() || defaultReplicasPerGpu < 1) {
      throw new IllegalArgumentException("a resource and at least 1 replica per GPU are needed");
    }
  }

  /** What {@code nvidia.com/gpu: N} means without an annotation. */
  public enum PlainRequests {
    /** So many whole GPUs. */
    GPUS,
    /** So many replicas, as under NVIDIA's plugin. */
    REPLICAS
  }

  /** The same, for pods on which plain requests count otherwise. */
  public MutationRules with(PlainRequests plain) {
    return new MutationRules(
        resources, defaultReplicasPerGpu, schedulerName, runtimeClass, memory, dialects, plain);
  }

  /** The same, for pods on which these others' words are not to be read. */
  public MutationRules without(SharingSystem dialect) {
    Set<SharingSystem> others =
        dialects.stream().filter(d -> d != dialect).collect(Collectors.toUnmodifiableSet());
    return new MutationRules(
        resources,
        defaultReplicasPerGpu,
        schedulerName,
        runtimeClass,
        memory,
        others,
        plainRequests);
  }

  /**
   * @param reserveBytes the driver's part of a GPU's memory where a node's label tells only the
   *     total
   * @param defaultBytes a GPU's total where no labelled node admits the pod; 0: not known, and
   *     requests by memory are refused then
   */
  public record Memory(long reserveBytes, long defaultBytes) {
    /** More than drivers are seen to keep of a data-centre GPU (about 450 MiB of a T4). */
    public static final Memory DEFAULT = new Memory(640L << 20, 0);
  }

  /**
   * What the cluster looks like at the moment of admission.
   *
   * @param nodes those labelled with their replicas per GPU
   * @param runtimeClassExists the one named above
   */
  public record Cluster(List<GpuNode> nodes, boolean runtimeClassExists) {}
}
