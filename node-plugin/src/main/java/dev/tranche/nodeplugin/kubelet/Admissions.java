package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.kubelet.ContainerPreferredAllocationRequest;
import dev.tranche.api.node.GpuShare;
import dev.tranche.nodeplugin.gpu.Closeness;
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
      Optional<Closeness> whole,
      long nowMs) {
    list.ifPresent(assignments::listed);
    int size = request.getAllocationSize();
    Optional<Found> found =
        list.isPresent()
            ? AdmittingPod.find(assignments.outstanding(), list.get(), resource, size)
            : AdmittingPod.guess(assignments.outstanding(), resource, size);
    pending = found.map(f -> new Pending(f, size, nowMs)).orElse(null);
    Map<String, Integer> reserved =
        assignments.reserved(
            resource,
            found.map(Found::podUid).orElse(""),
            found.map(Found::container).orElse(""),
            list);
    PreferredAllocation.Answer answer =
        PreferredAllocation.choose(
            request.getAvailableDeviceIDsList(),
            request.getMustIncludeDeviceIDsList(),
            size,
            found.map(Found::shares).orElse(List.of()),
            reserved,
            whole);
    return new Preferred(answer, found);
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
    whose(size, nowMs).ifPresent(f -> assignments.answered(f.podUid(), f.container()));
    pending = null;
  }

  /** The Allocate was refused: the kubelet fails the pod for good. */
  void refused(int size, long nowMs) {
    whose(size, nowMs).ifPresent(f -> assignments.refused(f.podUid()));
    pending = null;
  }
}
