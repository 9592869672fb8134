package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.gpu.GpuLinkScores;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.nodeplugin.kubelet.PreferredAllocation.Answer;
import dev.tranche.nodeplugin.kubelet.PreferredAllocation.Outcome;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The expected answers follow from the source of NVIDIA's plugin v0.20. */
class StandaloneAllocationTest {
  private static GpuInfo gpu(String uuid, int index) {
    return new GpuInfo(index, uuid, "T4", index, 0, 0, -1, 0, Mig.OFF);
  }

  private static Replicas replicas(String policy, int perGpu) {
    GpuSharing sharing =
        perGpu == 1
            ? GpuSharing.unshared("nvidia.com/gpu")
            : new GpuSharing("nvidia.com/gpu", perGpu, SharingStrategy.TIME_SLICING, false);
    return SharedGpus.replicas(
        sharing, List.of(gpu("A", 0), gpu("B", 1)), "--shared-devices-allocation-policy=" + policy);
  }

  private static Answer choose(String policy, List<String> available, List<String> must, int size) {
    return StandaloneAllocation.choose(
        replicas(policy, 4), available, must, size, GpuLinkScores.UNKNOWN);
  }

  private static final List<String> A_HAS_1_LEFT_B_ALL =
      List.of("B::3", "B::2", "A::3", "B::1", "B::0");

  @Test
  void distributed_takesFromTheEmptiestGpu_inTurnWhereTheyAreEqual() {
    assertThat(choose("distributed", A_HAS_1_LEFT_B_ALL, List.of(), 4).ids())
        .containsExactly("B::0", "B::1", "B::2", "A::3");
    List<String> all = new ArrayList<>();
    replicas("distributed", 4).all().forEach(replica -> all.add(replica.id()));
    Answer answer = choose("distributed", all, List.of(), 3);
    assertThat(answer.ids()).containsExactly("A::0", "B::0", "A::1");
    assertThat(answer.outcome()).isEqualTo(Outcome.DISTRIBUTED);
  }

  @Test
  void packed_takesFromTheFullestGpu_thoughItHasNoRoomForAll() {
    Answer answer = choose("packed", A_HAS_1_LEFT_B_ALL, List.of(), 2);
    assertThat(answer.ids()).containsExactly("A::3", "B::0");
    assertThat(answer.outcome()).isEqualTo(Outcome.PACKED);
  }

  @Test
  void mustIncludes_comeFirst_andCountAsTaken() {
    assertThat(choose("distributed", List.of("A::0", "A::1", "B::0", "B::1"), List.of("A::0"), 2))
        .isEqualTo(new Answer(List.of("A::0", "B::0"), Outcome.DISTRIBUTED));
  }

  @Test
  void tooFew_areNoError() {
    assertThat(choose("distributed", List.of("A::0", "X::0"), List.of(), 3).ids())
        .containsExactly("A::0");
  }

  /** A has four ids left; what two pods hold of it leaves room for two. */
  @Test
  void replicasOfTwoPods_areNotFree() {
    List<String> available = List.of("A::0", "B::1", "A::1", "A::2", "B::0", "A::3");
    List<String> free = StandaloneAllocation.free(available, Map.of("A", 2));
    assertThat(choose("distributed", free, List.of(), 4).ids())
        .containsExactly("A::2", "B::0", "A::3", "B::1");
    assertThat(choose("packed", free, List.of(), 5).ids()).hasSize(4);
    assertThat(StandaloneAllocation.free(available, Map.of())).isEqualTo(available);
  }

  @Test
  void wholeGpus_areChosenByCloseness() {
    Answer answer =
        StandaloneAllocation.choose(
            replicas("packed", 1), List.of("B", "A"), List.of(), 1, GpuLinkScores.UNKNOWN);
    assertThat(answer).isEqualTo(new Answer(List.of("A"), Outcome.ALIGNED));
  }

  @Test
  void thousandsOfReplicas_areSpreadEvenly() {
    Replicas all = replicas("distributed", 5_000);
    List<String> ids = all.all().stream().map(replica -> replica.id()).toList();
    Answer answer = StandaloneAllocation.choose(all, ids, List.of(), 1_250, GpuLinkScores.UNKNOWN);
    assertThat(answer.ids()).hasSize(1_250).doesNotHaveDuplicates();
    assertThat(answer.ids().stream().filter(id -> id.startsWith("A::"))).hasSize(625);
  }
}
