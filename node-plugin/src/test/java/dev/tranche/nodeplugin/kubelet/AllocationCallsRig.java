package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.kubelet.ContainerPreferredAllocationRequest;
import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.GpuShare;
import dev.tranche.api.podresources.ContainerDevices;
import dev.tranche.api.podresources.ContainerResources;
import dev.tranche.api.podresources.ListPodResourcesResponse;
import dev.tranche.api.podresources.PodResources;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Plays the extender and the kubelet to {@link AllocationCalls}. */
abstract class AllocationCallsRig {
  static final String RESOURCE = "nvidia.com/gpu";
  static final List<String> ALL =
      IntStream.range(0, 30).mapToObj(i -> "G" + i / 10 + "::" + i % 10).toList();

  final Assignments assignments = new Assignments();
  final AllocationCalls allocationCalls = new AllocationCalls(assignments, RESOURCE);
  final ListPodResourcesResponse.Builder list = ListPodResourcesResponse.newBuilder();
  Map<String, Integer> duplicates = Map.of();
  long nowMs;

  void assign(String pod, ContainerAssignment... containers) {
    assignAs("uid-" + pod, pod, containers);
  }

  void assignAs(String uid, String pod, ContainerAssignment... containers) {
    List<GpuShare> held =
        Stream.of(containers).flatMap(container -> container.getSharesList().stream()).toList();
    assignHeld(uid, pod, held, containers);
  }

  /** Of a pod that holds more than its containers are given, for its init containers. */
  void assignHeld(String uid, String pod, List<GpuShare> held, ContainerAssignment... containers) {
    var assignment = assignment(uid, pod).addAllContainers(List.of(containers)).addAllHeld(held);
    assignments.receive(assignment.setReplicasPerGpu(10).build(), nowMs);
  }

  static Assignment.Builder assignment(String uid, String pod) {
    return Assignment.newBuilder()
        .setPodUid(uid)
        .setNamespace("ns")
        .setPod(pod)
        .setResource(RESOURCE)
        .setExpiresInMs(1_000_000);
  }

  static ContainerAssignment container(String name, String uuid, int replicas) {
    return ContainerAssignment.newBuilder()
        .setContainer(name)
        .addShares(share(uuid, replicas))
        .build();
  }

  static GpuShare share(String uuid, int replicas) {
    return GpuShare.newBuilder().setUuid(uuid).setReplicas(replicas).build();
  }

  void lists(String pod, String... containers) {
    PodResources.Builder listed = PodResources.newBuilder().setNamespace("ns").setName(pod);
    for (String container : containers) {
      listed.addContainers(ContainerResources.newBuilder().setName(container));
    }
    list.addPodResources(listed);
  }

  void holds(String pod, String container, List<String> ids) {
    for (PodResources.Builder listed : list.getPodResourcesBuilderList()) {
      for (ContainerResources.Builder c : listed.getContainersBuilderList()) {
        if (listed.getName().equals(pod) && c.getName().equals(container)) {
          c.addDevices(
              ContainerDevices.newBuilder().setResourceName(RESOURCE).addAllDeviceIds(ids));
        }
      }
    }
  }

  /** A pod whose container main holds these. */
  void listsHolding(String pod, List<String> ids) {
    lists(pod, "main");
    holds(pod, "main", ids);
  }

  AllocationCalls.Preferred prefer(int size) {
    return prefer(size, List.of(), ALL);
  }

  AllocationCalls.Preferred prefer(int size, List<String> mustInclude, List<String> free) {
    return prefer(size, mustInclude, free, Optional.of(new PodList(list.build())));
  }

  AllocationCalls.Preferred preferWithoutList(int size) {
    return prefer(size, List.of(), ALL, Optional.empty());
  }

  private AllocationCalls.Preferred prefer(
      int size, List<String> mustInclude, List<String> free, Optional<PodList> answer) {
    var request =
        ContainerPreferredAllocationRequest.newBuilder()
            .addAllAvailableDeviceIDs(free)
            .addAllMustIncludeDeviceIDs(mustInclude)
            .setAllocationSize(size)
            .build();
    return allocationCalls.prefer(request, answer, Optional.empty(), duplicates, nowMs);
  }

  /** The next container of that size gets replicas of this GPU. */
  void admitOn(String uuid, int size) {
    assertOn(uuid, prefer(size));
    allocationCalls.granted(size, nowMs);
  }

  static void assertOn(String uuid, AllocationCalls.Preferred preferred) {
    assertThat(preferred.answer().ids()).isNotEmpty().allMatch(id -> id.startsWith(uuid + "::"));
  }
}
