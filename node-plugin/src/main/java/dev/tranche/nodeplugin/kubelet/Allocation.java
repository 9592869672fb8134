package dev.tranche.nodeplugin.kubelet;

import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toMap;

import dev.tranche.api.ReplicaId;
import dev.tranche.api.kubelet.ContainerAllocateResponse;
import dev.tranche.api.node.GpuShare;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.HeldReplicas;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.nodeplugin.limit.NodeLimits;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.UUID;

/**
 * Decides what a container gets for the replicas that the kubelet has picked, or why it is refused.
 * Never changes the pick: the kubelet's own record is the truth.
 *
 * @param nodes device nodes of this host other than those of its GPUs
 * @param held what containers hold now
 * @param limits whether shares must have a memory limit
 */
public record Allocation(Replicas replicas, HostNodes nodes, HeldReplicas held, NodeLimits limits) {

  /** The answer for one container. */
  public sealed interface Verdict {
    record Granted(ContainerAllocateResponse response) implements Verdict {}

    /**
     * @param outcome a label of a metric
     * @param message for the pod's status
     */
    record Refused(String outcome, String message) implements Verdict {}
  }

  /**
   * Decides on one container.
   *
   * @param ids replicas that the kubelet has picked
   */
  Verdict decide(Collection<String> ids, AllocationCalls.Expected expected) {
    List<GpuShare> assigned = expected.shares();
    int replicasPerGpu = expected.replicasPerGpu();
    for (String id : ids) {
      if (replicas.gpuOf(id).isEmpty()) {
        return refused("unknown_device", "unknown device: " + id);
      }
    }
    if (!expected.mayBeAssigned() && tooMany(ids)) {
      return refused(
          "too_many", "maximum request size for shared resources is 1; found " + ids.size());
    }
    if (!expected.mayBeAssigned() && scattered(ids)) {
      return refused("split", scatteredMessage(ids));
    }
    if (!assigned.isEmpty() && split(ids, assigned)) {
      return refused("split", splitMessage(ids, assigned));
    }
    Optional<String> other =
        replicasPerGpu == 0 ? Optional.empty() : gpuOfOtherReplicas(ids, replicasPerGpu);
    if (other.isPresent()) {
      return refused("other_replicas", otherReplicas(ids, replicasPerGpu, other.get()));
    }
    return held.overfull(replicas, ids, !assigned.isEmpty())
        .<Verdict>map(uuid -> refused("does_not_fit", noRoom(ids, uuid)))
        .or(() -> unlimited(ids, expected.memoryLimit()))
        .orElseGet(() -> new Verdict.Granted(response(ids, expected.memoryLimit())));
  }

  /** The kubelet may pick a GPU that has just lost what its limits need. */
  private Optional<Verdict> unlimited(Collection<String> ids, OptionalLong memoryLimit) {
    return LimitVariables.obstacle(limits, GrantedShare.of(replicas, ids), memoryLimit)
        .map(
            why ->
                refused(
                    "no_memory_limit",
                    "memoryLimits is required, and the share cannot be limited: " + why));
  }

  /** Returns a picked GPU that is split into another number of replicas. */
  private Optional<String> gpuOfOtherReplicas(Collection<String> ids, int replicasPerGpu) {
    return ids.stream()
        .map(ReplicaId::uuidOf)
        .filter(uuid -> replicasOf(uuid) != replicasPerGpu)
        .findFirst();
  }

  private int replicasOf(String uuid) {
    GpuSharing how = replicas.sharing().get(uuid);
    return how == null ? 1 : how.replicas();
  }

  private String otherReplicas(Collection<String> ids, int replicasPerGpu, String uuid) {
    return "the share is %d of %d replicas per GPU, and %s has %d by now; delete the pod; its owner recreates it with the current size"
        .formatted(ids.size(), replicasPerGpu, uuid, replicasOf(uuid));
  }

  private String noRoom(Collection<String> ids, String uuid) {
    return "%d of %d replicas of %s do not fit beside what running containers hold: the config changed, or the kubelet gave a replica to two pods; delete the pod; its owner recreates it"
        .formatted(byGpu(ids).getOrDefault(uuid, 0), replicasOf(uuid), uuid);
  }

  // An assigned request is one share of a GPU, which the webhook turned into replicas. The option
  // is meant to refuse requests for several GPUs.
  private boolean tooMany(Collection<String> ids) {
    return ids.size() > 1
        && replicas.failRequestsGreaterThanOne()
        && ids.stream().anyMatch(id -> !id.equals(ReplicaId.uuidOf(id)));
  }

  /**
   * Returns whether these are the replicas of whole GPUs, but of more than so many GPUs. Another
   * scheduler counts replicas alone, so parts of several GPUs may be all that its node has free.
   */
  private boolean scattered(Collection<String> ids) {
    if (!replicas.config().countsGpus()) {
      return false;
    }
    Map<String, Integer> picked = byGpu(ids);
    List<Integer> sizes = picked.keySet().stream().map(this::replicasOf).distinct().toList();
    if (sizes.size() != 1 || sizes.getFirst() < 2) {
      return false;
    }
    int perGpu = sizes.getFirst();
    return ids.size() % perGpu == 0 && picked.size() > ids.size() / perGpu;
  }

  private static String scatteredMessage(Collection<String> ids) {
    return "the pod requests whole GPUs, and the kubelet picked %s; no such GPU is free on this node; delete the pod, and let Tranche's scheduler place it (spec.schedulerName)"
        .formatted(picked(ids));
  }

  private Verdict refused(String outcome, String reason) {
    return new Verdict.Refused(
        outcome,
        "invalid allocation request for \"%s\": invalid request: %s"
            .formatted(replicas.resource(), reason));
  }

  /**
   * Returns whether the share is divided other than assigned. The kubelet may pick another GPU, but
   * not parts of other sizes.
   */
  private static boolean split(Collection<String> ids, List<GpuShare> assigned) {
    List<Integer> wanted = assigned.stream().map(GpuShare::getReplicas).sorted().toList();
    return !byGpu(ids).values().stream().sorted().toList().equals(wanted);
  }

  private static Map<String, Integer> byGpu(Collection<String> ids) {
    return ids.stream().collect(toMap(ReplicaId::uuidOf, id -> 1, Integer::sum, TreeMap::new));
  }

  private static String splitMessage(Collection<String> ids, List<GpuShare> assigned) {
    return "the share would be split: the kubelet picked %s, assigned was %s; a share must be on one GPU; delete the pod; its owner recreates it"
        .formatted(picked(ids), PendingAssignment.text(assigned));
  }

  private static String picked(Collection<String> ids) {
    return byGpu(ids).entrySet().stream()
        .map(e -> e.getValue() + " of " + e.getKey())
        .collect(joining(" and "));
  }

  private ContainerAllocateResponse response(Collection<String> ids, OptionalLong memoryLimit) {
    List<GpuInfo> gpus = ids.stream().flatMap(id -> replicas.gpuOf(id).stream()).toList();
    var response =
        new AllocateAnswer(replicas.config().allocate(), nodes, UUID.randomUUID().toString())
            .of(gpus);
    List<GrantedShare> shares = GrantedShare.of(replicas, ids);
    OptionalLong limitMib = LimitVariables.mib(limits, shares, memoryLimit);
    limitMib.ifPresent(mib -> LimitVariables.add(response, mib));
    ShareVariables.add(response, shares, limitMib);
    MpsClient.add(response, replicas, shares);
    return response.build();
  }
}
