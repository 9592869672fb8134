package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Pods that a finalizer keeps, and that their kubelet has never started. */
final class UnstartedPodsTest extends LedgerRig {
  private static final long GRACE_MS = 30_000;
  private static final Map<String, Map<String, Map<String, Integer>>> NOTHING = Map.of();
  private static final Map<String, Map<String, Map<String, Integer>>> LISTED =
      Map.of("ns/p", Map.of("main", Map.of("gpu-0", 3)));

  /** What the API server has of a pod with a finalizer a while after it was deleted, if it was. */
  @ParameterizedTest(name = "{0}")
  @CsvSource({
    // door, node, phase, started, deleted, free replicas of each GPU
    "mirror, node-a, Pending, false, true, 10",
    "mirror that is not deleted, node-a, Pending, false, false, 7",
    "nodeName: the kubelet has not started it, node-a, Pending, false, true, 10",
    "nodeName: the kubelet accepted it, node-a, Pending, true, true, 7",
    "nodeName: it runs, node-a, Running, true, true, 7",
    "nodeName: its phase is not known, node-a, Unknown, false, true, 7",
    "nodeName: the kubelet ended it, node-a, Failed, true, true, 10",
    "nodeName: the kubelet refused it, node-a, Failed, false, false, 10",
    "scheduling gate, , Pending, false, true, 10",
    "another scheduler that binds nothing, , Pending, false, true, 10",
    "another scheduler that bound it, node-a, Pending, false, false, 7",
    "another scheduler: it was deleted at once, node-a, Pending, false, true, 10",
  })
  void door_closesNoGpu_forPodsThatNeverStart(
      String door,
      @Nullable String node,
      String phase,
      boolean started,
      boolean deleted,
      int free) {
    report(NODE, NOTHING);
    apply(new Event.PodSeen(pod(node, phase, started, deleted)));
    nowMs += GRACE_MS + 60_000;
    report(NODE, NOTHING);
    for (String gpu : List.of("gpu-0", "gpu-1")) {
      assertThat(free(gpu)).as(door).isEqualTo(free);
    }
  }

  @Test
  void deletedPod_isLetGoOf_byAListOfAfterItsGracePeriod() {
    report(NODE, NOTHING);
    apply(new Event.PodSeen(mirror()));
    nowMs += GRACE_MS + 59_000;
    report(NODE, NOTHING);
    assertThat(free("gpu-0")).as("the kubelet's watch may be late").isEqualTo(7);
    pass(60_000);
    assertThat(free("gpu-0")).as("no list of since then").isEqualTo(7);
    assertThat(apply(listed(NOTHING, 60_000))).isEmpty();
    assertThat(free("gpu-0")).as("a list of before, sent again").isEqualTo(7);
    assertThat(report(NODE, NOTHING)).contains(new Decision.CapacityGrew(NODE));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  @Test
  void podThatTheKubeletLists_countsOn() {
    apply(new Event.PodSeen(mirror()));
    nowMs += GRACE_MS + 60_000;
    report(NODE, LISTED);
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(free("gpu-1")).as("its GPU is known").isEqualTo(10);
    nowMs += 5_000;
    report(NODE, NOTHING);
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  /** The kubelet is very late: it lists the pod after all. */
  @Test
  void podThatIsListedLater_countsAgain() {
    letGo();
    nowMs += 5_000;
    report(NODE, LISTED);
    assertThat(free("gpu-0")).isEqualTo(7);
    apply(new Event.PodSeen(pod(NODE, "Running", true, true)));
    nowMs += 10_000;
    report(NODE, LISTED);
    assertThat(ledger.hold("p").orElseThrow().confirmed()).isTrue();
    apply(new Event.PodGone("p", "ns/p"));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  /** Its owner changes a label, or a watch begins anew. */
  @Test
  void podThatWasLetGoOf_isNotCountedAgain_whenItIsSeenAgain() {
    letGo();
    apply(new Event.PodSeen(mirror()));
    assertThat(free("gpu-0")).isEqualTo(10);
    assertThat(ledger.pods()).isEmpty();
    assertThat(apply(new Event.PodGone("p", "ns/p"))).isEmpty();
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  /** It was bound, and deleted before the kubelet had heard of it. */
  @Test
  void boundPod_isLetGoOf_andItsAssignmentIsRetracted() {
    var echoes = List.of(echo("p", "gpu-0"));
    apply(new Event.Synced());
    apply(reported(NODE, state(NOTHING, echoes)));
    apply(new Event.PodSeen(pod(NODE, "Pending", false, true)));
    nowMs += GRACE_MS + 60_000;
    assertThat(apply(reported(NODE, state(NOTHING, echoes))))
        .contains(new Decision.Retract(NODE, "p"), new Decision.CapacityGrew(NODE));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  /** Beyond the bound, pods are not kept. */
  @Test
  void nodeWithTooManySuchPods_opensAgain() {
    report(NODE, NOTHING);
    int many = KeptPods.ON_NODE_MAX + 100;
    IntStream.range(0, many).forEach(i -> apply(new Event.PodSeen(named(i, false))));
    IntStream.range(0, many).forEach(i -> apply(new Event.PodSeen(named(i, true))));
    nowMs += GRACE_MS + 60_000;
    report(NODE, NOTHING);
    assertThat(free("gpu-0")).isEqualTo(10);
    assertThat(ledger.pods()).isEmpty();
  }

  /** What is remembered of them ends with them. */
  @Test
  void goneUnstartedPod_leavesNothing() {
    apply(new Event.PodSeen(mirror()));
    apply(new Event.PodGone("p", "ns/p"));
    pass(GRACE_MS + Timing.DEFAULT.tombstoneMs());
    assertThat(ledger.nodes()).isEmpty();
  }

  private void letGo() {
    apply(new Event.PodSeen(mirror()));
    nowMs += GRACE_MS + 60_000;
    report(NODE, NOTHING);
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  private PodFacts mirror() {
    return pod(NODE, "Pending", false, true);
  }

  private PodFacts pod(@Nullable String node, String phase, boolean started, boolean deleted) {
    return facts("p", node, phase, started, deleted);
  }

  private PodFacts named(int i, boolean deleted) {
    return facts("p" + i, NODE, "Pending", false, deleted);
  }

  private PodFacts facts(
      String name, @Nullable String node, String phase, boolean started, boolean deleted) {
    var draft = new TestPod("ns", name, node).phase(phase).container("main", "3");
    if (started) {
      draft.startedAt("2026-11-28T10:00:00Z");
    }
    if (deleted) {
      draft.deletedAt(Instant.ofEpochMilli(1_000 + GRACE_MS).toString());
    }
    return draft.facts();
  }

  private static Event listed(Map<String, Map<String, Map<String, Integer>>> list, long ageMs) {
    return new Event.Reported(NODE, state(list, List.of()), OptionalLong.of(ageMs));
  }
}
