package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.ReplicaId;
import dev.tranche.api.kubelet.ContainerPreferredAllocationRequest;
import dev.tranche.api.node.GpuShare;
import dev.tranche.nodeplugin.gpu.GpuLinkScores;
import dev.tranche.nodeplugin.kubelet.AdmittingPod.Found;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Ties the kubelet's two questions for a container together: GetPreferredAllocation finds out whose
 * it is, the Allocate that follows is then for the same. The kubelet admits one pod at a time, so
 * one place to remember is enough. Confined to one thread.
 */
final class Admissions {
  /** Between the answer to the first question and the second; beyond it they are unrelated. */
  static final long TOGETHER_MS = 2_000;

  /** An answered GetPreferredAllocation. */
  record Preferred(PreferredAllocation.Answer answer, Optional<Found> found) {}

  private record Pending(Found found, int size, long sinceMs) {}

  private final Assignments assignments;
  private final String resource;
  private @Nullable Pending pending;

  Admissions(Assignments assignments, String resource) {
    this.assignments = assignments;
    this.resource = resource;
  }

  /**
   * Answers the first question.
   *
   * @param list empty if the kubelet did not answer in time
   * @param whole how near the GPUs are to each other, if they are whole ones
   */
  Preferred prefer(
      ContainerPreferredAllocationRequest request,
      Optional<PodList> list,
      Optional<GpuLinkScores> whole,
      long nowMs) {
    list.ifPresent(assignments::listed);
    int size = request.getAllocationSize();
    Optional<Found> likeliest = likeliest(list, size);
    // Who is gone may never come, and its place be promised again. Only a name of its own is sure.
    Optional<Found> found =
        likeliest.filter(f -> assignments.isRetracted(f.podUid())).isPresent()
                && (list.isEmpty() || assignments.isSucceeded(likeliest.get().podUid()))
                && !hasPlace(request, likeliest.get(), list)
            ? find(assignments.outstanding(), list, size)
                .filter(f -> !f.container().isEmpty())
                .map(Found::asNamesake)
            : likeliest;
    pending = found.map(f -> new Pending(f, size, nowMs)).orElse(null);
    PreferredAllocation.Answer answer =
        PreferredAllocation.choose(
            request.getAvailableDeviceIDsList(),
            request.getMustIncludeDeviceIDsList(),
            size,
            found.map(Found::shares).orElse(List.of()),
            reserved(found, list),
            whole);
    return new Preferred(answer, found);
  }

  /**
   * Without a List whose assignment was retracted is the last to be thought of: it may never come.
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

  /** Whether its shares are free, and promised to nobody else. */
  private boolean hasPlace(
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

  /** The shares that the container of this Allocate was assigned; empty if none are known. */
  List<GpuShare> assigned(int size, long nowMs) {
    return whose(size, nowMs).map(Found::shares).orElse(List.of());
  }

  /** R that these shares are counted in; 0: not known. */
  int replicasPerGpu(int size, long nowMs) {
    return whose(size, nowMs).map(Found::replicasPerGpu).orElse(0);
  }

  /**
   * Whether this Allocate may be for a container with an assignment. The kubelet does not ask for a
   * preference where an init container has left enough replicas, so what is outstanding counts too.
   */
  boolean mayBeAssigned(int size, long nowMs) {
    return whose(size, nowMs).isPresent()
        || assignments.outstanding().stream()
            .filter(pod -> !pod.refused() && pod.assignment().getResource().equals(resource))
            .flatMap(pod -> pod.assignment().getContainersList().stream())
            .anyMatch(container -> PendingAssignment.size(container) == size);
  }

  private Optional<Found> whose(int size, long nowMs) {
    return Optional.ofNullable(pending)
        .filter(p -> p.size() == size && nowMs - p.sinceMs() <= TOGETHER_MS)
        .map(Pending::found);
  }

  /** The Allocate was granted. */
  void granted(int size, long nowMs) {
    whose(size, nowMs)
        .ifPresent(f -> assignments.answered(f.podUid(), f.container(), f.orNamesake()));
    pending = null;
  }

  /** The Allocate was refused: the kubelet fails the pod for good. */
  void refused(int size, long nowMs) {
    whose(size, nowMs).ifPresent(f -> assignments.refused(f.podUid()));
    pending = null;
  }
}
