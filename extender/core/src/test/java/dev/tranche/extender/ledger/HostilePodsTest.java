package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.process.Heap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Pods whose numbers, names and annotations are as large as the API server admits. */
final class HostilePodsTest extends LedgerRig {
  private static final long ALLOCATED_BYTES_MAX = 8 << 20;

  @Test
  void aMillionReplicasInEachOf700Containers_costLittle() {
    long before = Heap.allocatedBytes();
    PodFacts pod = facts(draft("large", NODE, 700, "1M"));
    for (int replicasPerGpu : List.of(1, 3, 10, 10_000)) {
      assertThat(pod.gpuRequest(replicasPerGpu).demand().peakReplicas()).isGreaterThan(10_000);
    }
    assertThat(Heap.allocatedBytes() - before).isLessThan(ALLOCATED_BYTES_MAX);
  }

  @ParameterizedTest
  @CsvSource({"55, 1M", "1, 10001", "3, 5k", "513, 1", "1, 1E", "1, 9223372036854775808", "1, x"})
  void aPodAboveTheBoundOnANode_takesTheWholeNode(int containers, String replicas) {
    report(NODE, Map.of());
    apply(new Event.PodSeen(facts(draft("large", NODE, containers, replicas))));
    assertThat(free("gpu-0")).isZero();
    assertThat(free("gpu-1")).isZero();
    // Its own word about its GPU does not count either.
    TestPod named = draft("named", NODE, containers, replicas).annotation(Names.GPU, "gpu-0");
    apply(new Event.PodGone("large", "ns/large"));
    apply(new Event.PodSeen(facts(named)));
    assertThat(free("gpu-1")).isZero();
  }

  @Test
  void manyPodsAboveTheBound_doNotOverflowToNothing() {
    report(NODE, Map.of());
    for (int i = 0; i < 450; i++) {
      // 2.2 billion in all, more than an int holds.
      apply(new Event.PodSeen(TestFacts.pod("p" + i, NODE, Map.of(), TestFacts.main(5_000_000))));
    }
    assertThat(free("gpu-0")).isZero();
  }

  @ParameterizedTest
  @CsvSource({"10000, 10000", "10k, 10000", "1e1, 10", "2, 2"})
  void whatANodeMayHave_isCountedAsItIs(String replicas, int counted) {
    assertThat(facts(draft("p", null, 1, replicas)).demand(10).peakReplicas()).isEqualTo(counted);
  }

  @Test
  void onlyAnnotationsThatAreRead_areKept() {
    PodFacts pod =
        facts(
            draft("p", null, 1, "3")
                .annotation("tranche.dev/note", "x".repeat(240_000))
                .annotation(Names.GPU_FRACTION_OF + "c0", "0.3")
                .annotation(Names.GPU_FRACTION_OF + "absent", "x".repeat(200_000))
                .annotation(Names.GPU_MODEL, "Tesla-T4"));
    assertThat(pod.annotations())
        .isEqualTo(Map.of(Names.GPU_FRACTION_OF + "c0", "0.3", Names.GPU_MODEL, "Tesla-T4"));
  }

  @ParameterizedTest
  @ValueSource(strings = {Names.GPU, Names.GPU_UUID, Names.GPU_FRACTION, Names.REPLICAS_PER_GPU})
  void aPodWithALongerAnnotationThanAdmissionAllows_fitsNowhere(String key) {
    PodFacts pod = facts(draft("p", null, 1, "3").annotation(key, "x".repeat(70_000)));
    assertThat(pod.annotations()).isEmpty();
    assertThat(pod.demand(10).peakReplicas()).isGreaterThan(10_000);
  }

  /** Another scheduler binds it; its owner would take the node with one replica and some spaces. */
  @ParameterizedTest
  @ValueSource(
      strings = {Names.GPU_FRACTION, Names.GPU_MODEL, Names.GPU_PLACEMENT, Names.GPU_COUNT})
  void aLongAnnotationOfAPodOnANode_takesNoMoreThanItRequests(String key) {
    report(NODE, Map.of());
    apply(new Event.PodSeen(facts(draft("p", NODE, 1, "3").annotation(key, "x".repeat(70_000)))));
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(free("gpu-1")).isEqualTo(7);
    report(NODE, Map.of("ns/p", Map.of("c0", Map.of("gpu-1", 3))));
    assertThat(free("gpu-0")).isEqualTo(10);
    assertThat(free("gpu-1")).isEqualTo(7);
  }

  private static TestPod draft(String uid, @Nullable String node, int containers, String replicas) {
    var draft = new TestPod("ns", uid, node);
    for (int i = 0; i < containers; i++) {
      draft.container("c" + i, replicas);
    }
    return draft;
  }

  private static PodFacts facts(TestPod draft) {
    return draft.facts();
  }
}
