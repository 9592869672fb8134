package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.kubelet.ContainerPreferredAllocationRequest;
import dev.tranche.nodeplugin.gpu.HeldReplica;
import dev.tranche.nodeplugin.gpu.HeldReplicas;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ResourceCallsTest {
  private final Assignments assignments = new Assignments();
  private final HeldReplicas held = new HeldReplicas();
  private final ResourceCalls calls =
      new ResourceCalls(assignments, held, ReplicasAtPickTest.replicas(10));

  @Test
  void pickOfTheConfigBefore_isHeldAsAPartOfThatConfig() {
    calls.update(ReplicasAtPickTest.replicas(4), 0);
    assertThat(calls.allocate(List.of("GPU-0::9"), Hardware.NONE, 1))
        .isInstanceOf(Allocation.Verdict.Granted.class);
    assertThat(held.all()).containsExactly(new HeldReplica("nvidia.com/gpu", "GPU-0::9", 10));
  }

  @Test
  void verdict_isRecordedOfTheAssignment() {
    askFor("granted", 1);
    calls.allocate(List.of("GPU-0::0"), Hardware.NONE, 0);
    assertThat(assignments.outstanding().getLast().answered()).containsExactly("main");
    askFor("refused", 2);
    calls.allocate(List.of("GPU-unknown::0", "GPU-unknown::1"), Hardware.NONE, 0);
    assertThat(assignments.outstanding().getLast().refused()).isTrue();
  }

  private void askFor(String pod, int size) {
    assignments.receive(
        AllocationCallsRig.assignment("uid-" + pod, pod)
            .addContainers(AllocationCallsRig.container("main", "GPU-0", size))
            .build(),
        0);
    var request =
        ContainerPreferredAllocationRequest.newBuilder()
            .addAllAvailableDeviceIDs(List.of("GPU-0::0", "GPU-0::1"))
            .setAllocationSize(size)
            .build();
    calls.prefer(request, Optional.empty(), Hardware.NONE, 0);
  }
}
