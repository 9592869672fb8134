package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.ReplicaId;
import dev.tranche.api.kubelet.ContainerPreferredAllocationRequest;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.GpuShare;
import dev.tranche.nodeplugin.gpu.GpuLinkScores;
import dev.tranche.nodeplugin.kubelet.AdmittingPod.Found;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Links the kubelet's two calls for a container. GetPreferredAllocation finds out which container
 * it is; the Allocate that follows is for the same one. The kubelet admits one pod at a time, so
 * only the last answer is kept. Confined to one thread.
 */
final class AllocationCalls {
  /** The longest time between the first answer and the second call; after it they are unrelated. */
  static final long CALL_GAP_MAX_MS = 2_000;

  /** An answered GetPreferredAllocation. */
  record Preferred(PreferredAllocation.Answer answer, Optional<Found> found) {}

  private record Pending(Found found, int size, long sinceMs) {}

  private final Assignments assignments;
  private final String resource;
  private @Nullable Pending pending;

  /** The container of the last preference; the kubelet asks for none where all is passed on. */
  private @Nullable Found last;

  AllocationCalls(Assignments assignments, String resource) {
    this.assignments = assignments;
    this.resource = resource;
  }

  /**
   * Answers GetPreferredAllocation.
   *
   * @param list empty if the kubelet did not answer in time
   * @param linkScores between the GPUs, if the devices are whole GPUs
   * @param duplicates replicas by GPU uuid that are offered as free, and are not
   */
  Preferred prefer(
      ContainerPreferredAllocationRequest request,
      Optional<PodList> list,
      Optional<GpuLinkScores> linkScores,
      Map<String, Integer> duplicates,
      long nowMs) {
    list.ifPresent(assignments::listed);
    int size = request.getAllocationSize();
    Optional<Found> likeliest = likeliest(list, size);
    // The kubelet may never ask for a deleted pod, and its replicas may be assigned again. Only a
    // name that no later pod has, or only one of another size, identifies it.
    boolean unsure =
        likeliest.filter(f -> assignments.isRetracted(f.podUid())).isPresent()
            && (list.isEmpty() || assignments.hasSuccessor(likeliest.get().podUid()))
            && !hasFreeShares(request, likeliest.get(), list);
    Optional<Found> successor =
        unsure
            ? find(assignments.outstanding(), list, size).filter(f -> !f.container().isEmpty())
            : Optional.empty();
    Optional<Found> found =
        successor.isPresent() || (unsure && list.isEmpty())
            ? successor.map(Found::asNameAmbiguous)
            : likeliest.map(f -> withPassedOn(f, request, list));
    last = found.orElse(null);
    pending = found.map(f -> new Pending(f, size, nowMs)).orElse(null);
    Map<String, Integer> reserved = reserved(found, list);
    duplicates.forEach((uuid, replicas) -> reserved.merge(uuid, replicas, Integer::sum));
    PreferredAllocation.Answer answer =
        PreferredAllocation.choose(
            request.getAvailableDeviceIDsList(),
            request.getMustIncludeDeviceIDsList(),
            size,
            found.map(Found::shares).orElse(List.of()),
            reserved,
            linkScores);
    return new Preferred(answer, found);
  }

  /**
   * The kubelet includes what init containers pass on, even if an init container was taken for
   * another of its size. Without a List nobody can tell what the containers before it have.
   */
  private static Found withPassedOn(
      Found found, ContainerPreferredAllocationRequest request, Optional<PodList> list) {
    boolean passedOn = found.passedOn() || request.getMustIncludeDeviceIDsCount() > 0;
    if (!passedOn || found.of().getHeldCount() <= 1) {
      return found;
    }
    List<GpuShare> shares =
        list.map(shown -> sharesWithPassedOn(found, request, shown)).orElse(List.of());
    return found.asPassedOn(shares.isEmpty() ? found.shares() : shares);
  }

  /**
   * Returns the shares of a container that takes over what init containers have, so that the pod
   * comes to hold what was decided. Empty if that is not possible any more.
   *
   * @param list shows what the containers before it have
   */
  private static List<GpuShare> sharesWithPassedOn(
      Found found, ContainerPreferredAllocationRequest request, PodList list) {
    var part = new HeldPart(found.of());
    List<GpuShare> passedOn =
        request.getMustIncludeDeviceIDsList().stream()
            .map(id -> GpuShare.newBuilder().setUuid(ReplicaId.uuidOf(id)).setReplicas(1).build())
            .toList();
    found.of().getContainersList().stream()
        .flatMap(c -> list.held(found.of(), c).stream())
        .forEach(id -> part.remove(ReplicaId.uuidOf(id), 1));
    return part.take(
        Stream.concat(passedOn.stream(), found.shares().stream()), request.getAllocationSize());
  }

  /**
   * Finds the likeliest container. Without a List, retracted assignments come last, since the
   * kubelet may never ask for them.
   */
  private Optional<Found> likeliest(Optional<PodList> list, int size) {
    Optional<Found> outstanding =
        list.isPresent() ? Optional.empty() : find(assignments.outstanding(), list, size);
    return outstanding.isPresent() ? outstanding : find(assignments.expected(), list, size);
  }

  private Optional<Found> find(List<PendingAssignment> pods, Optional<PodList> list, int size) {
    return list.isPresent()
        ? AdmittingPod.find(pods, list.get(), resource, size)
        : AdmittingPod.guess(pods, resource, size);
  }

  private Map<String, Integer> reserved(Optional<Found> found, Optional<PodList> list) {
    return assignments.reserved(
        resource,
        found.map(Found::podUid).orElse(""),
        found.map(Found::container).orElse(""),
        list);
  }

  /** Returns whether its shares are free and not reserved for another container. */
  private boolean hasFreeShares(
      ContainerPreferredAllocationRequest request, Found found, Optional<PodList> list) {
    Map<String, Integer> reserved = reserved(Optional.of(found), list);
    return found.shares().stream()
        .allMatch(
            share ->
                share.getReplicas() + reserved.getOrDefault(share.getUuid(), 0)
                    <= request.getAvailableDeviceIDsList().stream()
                        .filter(id -> ReplicaId.uuidOf(id).equals(share.getUuid()))
                        .count());
  }

  /**
   * What is known of the container of an Allocate.
   *
   * @param shares that it must have; empty if unknown
   * @param replicasPerGpu R that those shares are counted in; 0 if unknown
   * @param mayBeAssigned whether it may have an assignment, even an unknown one
   * @param podOfInit {@code namespace/name}, if it is an ordinary init container that others
   *     follow; else empty
   * @param memoryLimit what the pod says about it, in bytes
   */
  record Expected(
      List<GpuShare> shares,
      int replicasPerGpu,
      boolean mayBeAssigned,
      String podOfInit,
      OptionalLong memoryLimit) {}

  /**
   * Returns what is known of the container of an Allocate. The kubelet skips GetPreferredAllocation
   * for what an init container has left; then any outstanding assignment of this size may be meant,
   * and all of them must agree on the memory limit.
   */
  Expected expected(int size, long nowMs) {
    Optional<Found> found = foundFor(size, nowMs);
    if (found.isPresent()) {
      Found f = found.get();
      return new Expected(
          f.passedOn() ? List.of() : f.shares(),
          f.of().getReplicasPerGpu(),
          true,
          f.ofInitContainer() ? PendingAssignment.name(f.of()) : "",
          PendingAssignment.memoryLimit(f.of(), f.container()));
    }
    List<ContainerAssignment> meant = mayBeMeant(size).toList();
    return new Expected(List.of(), 0, !meant.isEmpty(), "", PendingAssignment.memoryLimit(meant));
  }

  private Stream<ContainerAssignment> mayBeMeant(int size) {
    return assignments.outstanding().stream()
        .filter(pod -> pod.mayAllocate(resource))
        .flatMap(pod -> pod.containers().stream())
        .filter(container -> PendingAssignment.size(container) == size);
  }

  private Optional<Found> foundFor(int size, long nowMs) {
    return Optional.ofNullable(pending)
        .filter(p -> p.size() == size && nowMs - p.sinceMs() <= CALL_GAP_MAX_MS)
        .map(Pending::found);
  }

  /** The Allocate was granted. */
  void granted(int size, long nowMs) {
    if (pending == null && last != null && last.ofInitContainer()) {
      assignments.tookOver(last, size);
    }
    foundFor(size, nowMs)
        .ifPresent(
            f -> {
              assignments.answered(f.podUid(), f.container(), f.nameAmbiguous());
              if (f.passedOn()) {
                assignments.answered(f.podUid(), "", f.nameAmbiguous());
              }
            });
    pending = null;
  }

  /** The Allocate was refused: the kubelet fails the pod for good. */
  void refused(int size, long nowMs) {
    foundFor(size, nowMs).ifPresent(f -> assignments.refused(f.podUid()));
    pending = null;
  }
}
