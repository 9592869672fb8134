package dev.tranche.webhook.mutate;

import dev.tranche.api.GrantedGpus;
import dev.tranche.webhook.compat.SharingSystem;
import dev.tranche.webhook.nodes.GpuNode;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * The part of the configuration that decides about pods.
 *
 * @param resources the extended resources that we advertise; fractions become replicas of the first
 * @param defaultReplicasPerGpu R if the pod can land on no labelled node
 * @param schedulerName the scheduler of pods that request one of the resources; empty leaves theirs
 *     unchanged
 * @param runtimeClass the RuntimeClass of such pods if it exists; empty leaves theirs unchanged
 * @param memory GPU memory to assume where nodes do not state it
 * @param dialects the other systems whose annotations and resources are translated
 * @param plainRequests what a number of the first resource counts in a pod that requests it
 * @param replicaSchedulers other schedulers whose pods' numbers count replicas in any case
 */
public record MutationRules(
    List<String> resources,
    int defaultReplicasPerGpu,
    String schedulerName,
    String runtimeClass,
    Memory memory,
    Set<SharingSystem> dialects,
    PlainRequests plainRequests,
    Set<String> replicaSchedulers) {
  /** What {@code nvidia.com/gpu: N} means without an annotation. */
  public enum PlainRequests {
    /** So many whole GPUs. */
    GPUS,
    /** So many replicas, as under NVIDIA's plugin. */
    REPLICAS,
    /**
     * What it counts on nodes that are not Tranche's: the pod is left to these. Where it is not, as
     * one that names our node, it counts whole GPUs.
     */
    UNCHANGED
  }

  /** Returns the resource of which fractions become replicas. */
  String resource() {
    return resources.getFirst();
  }

  /** Returns the same rules with another meaning of plain requests, and for other dialects. */
  public MutationRules with(PlainRequests plain, Set<SharingSystem> others) {
    return new MutationRules(
        resources,
        defaultReplicasPerGpu,
        schedulerName,
        runtimeClass,
        memory,
        others,
        plain,
        replicaSchedulers);
  }

  /**
   * @param reserveBytes the driver's part of a GPU's memory, for nodes whose labels state only the
   *     total
   * @param defaultBytes a GPU's total memory if no node that the pod can land on states it; 0 if
   *     unknown, so that requests by memory are denied
   * @param limits of the driver's
   */
  public record Memory(long reserveBytes, long defaultBytes, Limits limits) {
    /** Whether a request by memory is converted where no node states its memory. */
    boolean isAssumed() {
      return defaultBytes > reserveBytes;
    }
  }

  /**
   * @param required whether the node plugin limits the memory of each share
   * @param optOut whether a pod can ask for no limit
   */
  public record Limits(boolean required, boolean optOut) {}

  /**
   * A snapshot of the cluster at admission.
   *
   * @param nodes the nodes labelled with their replicas per GPU
   * @param foreign nodes that offer the resources without that label, or are labelled as a DRA
   *     driver's
   * @param runtimeClassExists whether {@link MutationRules#runtimeClass} exists
   * @param granted how much of a node's GPUs is granted, as far as its annotation says
   * @param reviewUid of the API server's request, which decides among equals
   */
  public record Cluster(
      List<GpuNode> nodes,
      List<GpuNode> foreign,
      boolean runtimeClassExists,
      Function<GpuNode, Optional<GrantedGpus>> granted,
      String reviewUid) {
    /** The same for a pod that names models: the free share of a mixed node may be of another. */
    Cluster ofModels() {
      return new Cluster(
          nodes,
          foreign,
          runtimeClassExists,
          node -> node.mixed() ? Optional.empty() : granted.apply(node),
          reviewUid);
    }

    /** Returns the nodes that say that these shares are free, and the largest is on one GPU. */
    Predicate<GpuNode> haveRoom(List<Grant> grants) {
      long replicas = grants.stream().mapToLong(Grant::replicas).sum();
      int ofReplicas = grants.getFirst().replicasPerGpu();
      // A share of several GPUs takes them whole.
      int share =
          grants.stream()
              .mapToInt(g -> Math.min(g.shareReplicas(), ofReplicas))
              .max()
              .orElseThrow();
      return node ->
          granted.apply(node).filter(g -> g.leaves(replicas, share, ofReplicas)).isPresent();
    }
  }
}
