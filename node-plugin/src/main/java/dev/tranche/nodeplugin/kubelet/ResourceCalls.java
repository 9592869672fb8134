package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.kubelet.ContainerPreferredAllocationRequest;
import dev.tranche.nodeplugin.gpu.HeldReplicas;
import dev.tranche.nodeplugin.gpu.Replicas;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Answers the kubelet's calls for one resource, in the order of the API. It takes time, Lists and
 * hardware as parameters, and has no sockets. Confined to one thread.
 */
final class ResourceCalls {
  private final AllocationCalls calls;
  private final HeldReplicas held;
  private final ReplicasAtPick picks;

  /**
   * @param held what containers hold; what Allocate grants is added
   */
  ResourceCalls(Assignments assignments, HeldReplicas held, Replicas replicas) {
    this.calls = new AllocationCalls(assignments, replicas.resource());
    this.held = held;
    this.picks = new ReplicasAtPick(replicas);
  }

  void update(Replicas now, long nowMs) {
    picks.update(now, nowMs);
  }

  /**
   * Answers GetPreferredAllocation by the assignments.
   *
   * @param list empty if the kubelet did not answer in time
   */
  AllocationCalls.Preferred prefer(
      ContainerPreferredAllocationRequest container,
      Optional<PodList> list,
      Hardware hardware,
      long nowMs) {
    var offered = offered(container);
    boolean wholeGpus =
        StandaloneAllocation.wholeGpus(picks.current(), offered.getAvailableDeviceIDsList());
    return calls.prefer(
        offered,
        list,
        wholeGpus ? Optional.of(hardware.linkScores()) : Optional.empty(),
        duplicates(),
        nowMs);
  }

  /** Answers GetPreferredAllocation without an extender, which would assign GPUs. */
  AllocationCalls.Preferred preferStandalone(
      ContainerPreferredAllocationRequest container, Hardware hardware) {
    var offered = offered(container);
    var answer =
        StandaloneAllocation.choose(
            picks.current(),
            StandaloneAllocation.free(offered.getAvailableDeviceIDsList(), duplicates()),
            offered.getMustIncludeDeviceIDsList(),
            offered.getAllocationSize(),
            hardware.linkScores());
    return new AllocationCalls.Preferred(answer, Optional.empty());
  }

  /**
   * Removes the replicas of an earlier config, which the kubelet may offer when their container
   * ends.
   */
  private ContainerPreferredAllocationRequest offered(
      ContainerPreferredAllocationRequest container) {
    List<String> ids = picks.current().withoutRetired(container.getAvailableDeviceIDsList());
    return container.toBuilder().clearAvailableDeviceIDs().addAllAvailableDeviceIDs(ids).build();
  }

  private Map<String, Integer> duplicates() {
    return held.duplicates(picks.current());
  }

  /** Answers Allocate. */
  Allocation.Verdict allocate(List<String> ids, Hardware hardware, long nowMs) {
    int size = ids.size();
    Replicas pickedFrom = picks.of(ids, nowMs);
    var expected = calls.expected(size, nowMs);
    var verdict =
        new Allocation(pickedFrom, hardware.nodes(), held, hardware.limits()).decide(ids, expected);
    switch (verdict) {
      case Allocation.Verdict.Granted granted -> {
        calls.granted(size, nowMs);
        held.allocated(pickedFrom, ids, expected.podOfInit(), expected.memoryLimit());
      }
      case Allocation.Verdict.Refused refused -> calls.refused(size, nowMs);
    }
    return verdict;
  }
}
