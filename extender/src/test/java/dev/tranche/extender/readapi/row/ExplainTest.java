package dev.tranche.extender.readapi.row;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.Refusals;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.ledger.SchedulerVerdict;
import dev.tranche.extender.ledger.TestFacts;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.readapi.json.Json;
import dev.tranche.extender.readapi.table.Output;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.selection.Exclusion;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.snapshot.NodeSnapshot;
import dev.tranche.extender.snapshot.Turn;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

final class ExplainTest {
  private static final Optional<NodeFilter> ALL_NODES = Optional.of(node -> Optional.empty());

  private FakeWorld world = new FakeWorld(Policy.LOAD);

  @Test
  void boundByAnotherReplica_isReconstructed() {
    world.report("a", new Gpu("a0", 0.2, 0), new Gpu("a1", 0.1, 0));
    world.see(FakeWorld.pod("p", 3, "tranche.dev/gpu=a0").on("a"));
    JsonObject explained = explained();
    assertThat(page(Optional.empty()).getString("state")).isEqualTo("Bound");
    assertThat(explained.getString("note")).contains("the pod's annotation");
    assertThat(explained.getJsonObject("chosen").getJsonArray("chosenGpus"))
        .hasSize(1)
        .allMatch(gpu -> ((JsonObject) gpu).getString("uuid").equals("a0"));
  }

  /** Only kube-scheduler knows how it broke a tie, and its own scores. */
  @Test
  void boundPod_saysWhatDecidedBesideTheScores() {
    String place = "on node a GPU 0: least loaded of 3, 20 %; others 20 %";
    assertThat(noteOfBound(7, 5, 5)).isEqualTo(place);
    assertThat(noteOfBound(5, 5, 3))
        .isEqualTo(place + "; node b had the same score; kube-scheduler broke the tie");
    assertThat(noteOfBound(5, 5, 5))
        .isEqualTo(place + "; nodes b and c had the same score; kube-scheduler broke the tie");
    assertThat(noteOfBound(5, 6, 5))
        .isEqualTo(place + "; node b had a higher score; kube-scheduler's own scores decided");
    assertThat(noteOfBound(5))
        .isEqualTo("on node a GPU 0: 20 % loaded; it was the only node that fitted");
  }

  @Test
  void boundPod_isComparedWithTheGpusThatHadRoom() {
    world.report(
        "a",
        new Gpu("a0", 0.6, 0),
        new Gpu("a1", 0.5, 0),
        new Gpu("full", 0.1, 10 * FakeWorld.GIB));
    world.report("b", new Gpu("b0", 1.29, 0));
    PodFacts pod = FakeWorld.pod("p", 3);
    List<NodeFit> fits =
        Stream.of("a", "b").map(node -> world.evaluator.evaluate(pod, node)).toList();
    world.explanations.filtered(pod, Policy.LOAD, fits, List.of());
    world.explanations.prioritized(pod, Policy.LOAD, fits, new int[] {6, 4});
    NodeFit chosen = fits.getFirst();
    world.explanations.bound(pod, Policy.LOAD, chosen, chosen.placement().orElseThrow());
    world.see(pod.on("a"));
    assertThat(explained().getString("note"))
        .isEqualTo("on node a GPU 1: least loaded of 3, 50 %; others 60 to 129 %");
    assertThat(Output.TABLE.of(world.explained("ns/p", Optional.empty()), Instant.now()))
        .startsWith("Placed:        on node a GPU 1: least loaded of 3");
  }

  /**
   * @param scores of the nodes a, b and c, the first of which is chosen
   */
  private String noteOfBound(int... scores) {
    world = new FakeWorld(Policy.LOAD);
    List<String> nodes = List.of("a", "b", "c").subList(0, scores.length);
    nodes.forEach(node -> world.report(node, new Gpu(node + "0", 0.2, 0)));
    PodFacts pod = FakeWorld.pod("p", 3);
    List<NodeFit> fits = nodes.stream().map(node -> world.evaluator.evaluate(pod, node)).toList();
    world.explanations.filtered(pod, Policy.LOAD, fits, List.of());
    world.explanations.prioritized(pod, Policy.LOAD, fits, scores);
    world.explanations.bound(
        pod, Policy.LOAD, fits.getFirst(), fits.getFirst().placement().orElseThrow());
    world.see(pod.on("a"));
    return explained().getString("note");
  }

  @Test
  void waitingPodOfAnotherReplica_isJudgedNow() {
    world.report("a", new Gpu("a0", 0.2, 0));
    world.see(FakeWorld.pod("p", 3));
    JsonObject explained = explained();
    assertThat(page(Optional.empty()).getString("state")).isEqualTo("Waiting");
    assertThat(explained.getString("note"))
        .as("there may be no other replica, and kube-scheduler knows more of nodes")
        .contains("has not called this extender")
        .contains("nodeSelector");
    assertThat(explained.getJsonArray("fitted")).hasSize(1);
  }

  /** The API server did not return the pod, so it is not known which nodes it excludes. */
  @Test
  void calledPodWhoseFilterIsUnknown_isToldThatExcludedNodesAreCountedToo() {
    world.report("a", new Gpu("a0", 0.2, 0));
    filtered("a");
    JsonObject explained = explained();
    assertThat(explained.getString("note"))
        .startsWith("these are all nodes with their current GPUs, including those");
    assertThat(explained.containsKey("excludedCount")).isFalse();
  }

  @Test
  void calledPodThatWaits_isToldThatNodesFitByTheirGpusAlone() {
    world.report("a", new Gpu("a0", 0.2, 0));
    filtered("a");
    JsonObject explained = explained(ALL_NODES);
    assertThat(explained.getInteger("fittedCount")).isOne();
    assertThat(explained.getString("note")).startsWith("these nodes fit by their GPUs now");
    assertThat(explained.getInteger("excludedCount")).isZero();
  }

  /** kube-scheduler calls filter, and then finds no node. */
  private void filtered(String node) {
    PodFacts pod = FakeWorld.pod("p", 3);
    world.see(pod);
    world.filter().filter(pod, List.of(node), false);
    world.state.apply(new Event.Release("p"));
  }

  @Test
  void nodeInBackoff_isNamedWithItsReason() {
    world.report("a", new Gpu("a0", 0, 0));
    world.report("b", new Gpu("b0", 0.5, 0));
    PodFacts pod = FakeWorld.pod("p", 3);
    world.see(pod);
    world.state.apply(new Event.Unacknowledged("a", world.nowMs));
    world.filter().filter(pod, List.of("a", "b"), false);
    assertThat(explained().getJsonArray("refusedByReason"))
        .containsExactly(
            new JsonObject().put("message", Reason.NOT_ACKNOWLEDGING.sentence).put("nodes", 1));
  }

  @Test
  void rejectedPod_isExplainedGpuByGpu() {
    world.report("a", new Gpu("a0", 0.2, 10 * FakeWorld.GIB));
    world.filter().filter(FakeWorld.pod("p", 3), List.of("a"), false);
    JsonObject explained = explained();
    assertThat(explained.getJsonArray("refused").getJsonObject(0).getString("message"))
        .contains("too little measured free memory");
    assertThat(explained.encode()).contains("gpu 0: 1 free, needs 0.3 of one GPU");
  }

  @Test
  void sharesOnSeveralGpus_areNamed() {
    world.report("a", new Gpu("a0", 0.2, 0));
    PodFacts halves = FakeWorld.pod("p", 10, Names.GPU_FRACTION + "=0.5", Names.GPU_COUNT + "=2");
    world.filter().filter(halves, List.of("a"), false);
    assertThat(explained().encode()).contains("gpu 0: 1 free, needs 0.5 on each of two GPUs");
  }

  @Test
  void ofThousandsOfNodes_aFewAreShown_andTheOthersCountedByReason() {
    for (int i = 0; i < 100; i++) {
      world.report("full-" + i, new Gpu("f" + i, 0.2, 0));
      see("x" + i, 9, "f" + i, "full-" + i);
      world.report("used-" + i, new Gpu("u" + i, 0.2, 9 * FakeWorld.GIB));
      world.report("free-" + i, new Gpu("g" + i, 0.2, 0));
    }
    world.see(FakeWorld.pod("p", 3));
    JsonObject explained = explained();
    assertThat(explained.getJsonArray("fitted")).hasSize(Explanations.NODES_MAX);
    assertThat(explained.getInteger("fittedCount")).isEqualTo(100);
    assertThat(explained.getInteger("refusedCount")).isEqualTo(200);
    assertThat(explained.getJsonArray("refused"))
        .hasSize(Refusals.NODES_MAX)
        .allMatch(node -> ((JsonObject) node).getString("node").startsWith("used-"));
    assertThat(explained.getJsonArray("refusedByReason"))
        .containsExactlyInAnyOrder(
            new JsonObject().put("message", Reason.FULL.sentence).put("nodes", 100),
            new JsonObject().put("message", Reason.MEMORY.sentence).put("nodes", 100));
  }

  @Test
  void podOfAnotherReplica_doesNotStandInItsOwnWay() {
    world.report("a", new Gpu("a0", 0.2, 0));
    PodFacts pod = FakeWorld.pod("p", 8);
    world.see(pod);
    Placement place = world.evaluator.evaluate(pod, "a").placement().orElseThrow();
    world.state.apply(new Event.Reserve(pod, "a", place));
    assertThat(explained().getJsonArray("fitted")).hasSize(1);
  }

  @Test
  void gpuHeldForANominatedPod_isNotHeldAgainstOneOfHigherPriority() {
    world.report("a", new Gpu("a0", 0.2, 0));
    PodFacts nominated =
        FakeWorld.pod("n", 10).with(new PreemptionInfo(5, Map.of(), 1, false, "a"));
    Placement place = world.evaluator.evaluate(nominated, "a").placement().orElseThrow();
    world.state.apply(new Event.Nominate(nominated, Map.of("a", place), "a"));
    world.see(nominated);
    PodFacts urgent = FakeWorld.pod("p", 3);
    world.see(urgent.with(new PreemptionInfo(6, Map.of(), 1, false, null)));
    assertThat(explained().getJsonArray("fitted")).hasSize(1);
    world.see(urgent.with(new PreemptionInfo(4, Map.of(), 1, false, null)));
    assertThat(explained().getJsonArray("fitted")).isEmpty();
  }

  @Test
  void waitingPod_isToldTheLargestShareThatWouldFit() {
    world.report("a", new Gpu("a0", 0.2, 0), new Gpu("a1", 0.2, 0));
    world.report("b", new Gpu("b0", 0.2, 0));
    world.report("c", new Gpu("c0", 0.2, 0));
    see("x", 6, "a0", "a");
    see("y", 7, "a1", "a");
    see("z", 5, "b0", "b");
    Optional<NodeFilter> notC =
        Optional.of(n -> n.equals("c") ? Optional.of(Exclusion.TAINTS) : Optional.empty());
    world.see(FakeWorld.pod("p", 8));
    var expected = new JsonObject().put("replicas", 5).put("replicasPerGpu", 10).put("node", "b");
    assertThat(explained(notC).getJsonObject("smallerShare")).isEqualTo(expected);
    // The same once kube-scheduler has asked.
    world.filter().filter(FakeWorld.pod("p", 8), List.of("a", "b"), false);
    assertThat(explained(notC).getJsonObject("smallerShare")).isEqualTo(expected);
    assertThat(explained(ALL_NODES).getJsonObject("smallerShare")).as("it fits as it is").isNull();
    assertThat(explained().getJsonObject("smallerShare")).as("nodes unknown").isNull();
    see("x1", 4, "a0", "a");
    see("y1", 3, "a1", "a");
    see("z1", 5, "b0", "b");
    assertThat(explained(notC).getJsonObject("smallerShare")).as("all is full").isNull();
  }

  /** Its volume is on a node that only kube-scheduler knows. */
  @Test
  void podWhoseVolumeExcludesNodes_isToldNoSmallerShare() {
    world.report("a", new Gpu("a0", 0.2, 0));
    see("x", 6, "a0", "a");
    PodFacts pod = FakeWorld.pod("p", 8);
    String full = "0/2 nodes are available: 1 Insufficient nvidia.com/gpu";
    world.see(refused(pod, full + "."));
    assertThat(explained(ALL_NODES).getJsonObject("smallerShare")).isNotNull();
    for (String other : List.of("node(s) had volume node affinity conflict", "Insufficient cpu")) {
      world.see(refused(pod, full + ", 1 " + other + "."));
      assertThat(explained(ALL_NODES).getJsonObject("smallerShare")).as(other).isNull();
    }
  }

  private static PodFacts refused(PodFacts pod, String message) {
    return pod.with(SchedulerVerdict.of("Unschedulable", message, pod.resource()));
  }

  @Test
  void podOnSeveralGpus_isToldTheShareOfEach() {
    world.report("a", new Gpu("a0", 0.2, 0), new Gpu("a1", 0.2, 0));
    see("x", 6, "a0", "a");
    see("y", 7, "a1", "a");
    PodFacts two =
        TestFacts.pod(
            "p",
            null,
            Map.of(Names.GPU_FRACTION, "0.5", Names.GPU_COUNT, "2", Names.REPLICAS_PER_GPU, "10"),
            TestFacts.main(10));
    world.see(two);
    assertThat(explained(ALL_NODES).getJsonObject("smallerShare"))
        .isEqualTo(new JsonObject().put("replicas", 3).put("replicasPerGpu", 10).put("node", "a"));
  }

  /** kube-scheduler never asks for victims there: half of each GPU is free, and it adds them up. */
  @Test
  void podOfHighPriority_isToldThatPreemptionDoesNotHelp_whereRoomIsOnlyScattered() {
    world.report("a", new Gpu("a0", 0.2, 0), new Gpu("a1", 0.2, 0));
    see("x", 5, "a0", "a");
    see("y", 5, "a1", "a");
    var urgent = FakeWorld.pod("p", 9).with(new PreemptionInfo(5, Map.of(), 1, false, null));
    world.see(urgent);
    assertThat(explained().getString("note"))
        .contains("has not called this extender")
        .endsWith(Explain.NOTE_NO_PREEMPTION + ". GPU 0 of node a is held by ns/x (0.5)");
    world.filter().filter(urgent, List.of("a"), false);
    assertThat(explained(ALL_NODES).getString("note"))
        .isEqualTo(Explain.NOTE_NO_PREEMPTION + ". GPU 0 of node a is held by ns/x (0.5)");
    PodDetail unnamed = world.explained("ns/p", ALL_NODES, Optional.empty(), View.of("other"));
    assertThat(Json.buffer(unnamed).toJsonObject().getJsonObject("decision").getString("note"))
        .endsWith("GPU 0 of node a is held by pods of other namespaces");
    var equal = FakeWorld.pod("p", 9);
    world.see(equal);
    assertThat(explained(ALL_NODES).getString("note")).as("of no higher priority").isNull();
    // The sum is short as well: kube-scheduler asks.
    see("z", 5, "a0", "a");
    see("w", 3, "a1", "a");
    world.see(urgent);
    world.filter().filter(urgent, List.of("a"), false);
    assertThat(explained(ALL_NODES).getString("note")).isNull();
  }

  private JsonObject explained() {
    return explained(Optional.empty());
  }

  /** The decision alone. */
  private JsonObject explained(Optional<NodeFilter> filter) {
    return page(filter).getJsonObject("decision");
  }

  private JsonObject page(Optional<NodeFilter> filter) {
    return Json.buffer(world.explained("ns/p", filter)).toJsonObject();
  }

  @Test
  void nodesThatThePodExcludes_areLeftOut_andCounted() {
    for (String node : List.of("a", "b", "c", "d")) {
      world.report(node, new Gpu(node + "0", 0.2, 0));
    }
    world.see(FakeWorld.pod("p", 3));
    Map<String, Exclusion> excluded =
        Map.of("a", Exclusion.TAINTS, "b", Exclusion.NODE_SELECTOR, "d", Exclusion.NODE_SELECTOR);
    Optional<NodeFilter> filter = Optional.of(node -> Optional.ofNullable(excluded.get(node)));
    JsonObject explained = explained(filter);
    assertThat(explained.getInteger("fittedCount")).isOne();
    assertThat(explained.getJsonArray("fitted").getJsonObject(0).getString("node")).isEqualTo("c");
    assertThat(explained.getString("note"))
        .endsWith("3 nodes are excluded: 2 by nodeSelector, 1 by taints not tolerated");
    assertThat(explained.getInteger("excludedCount")).isEqualTo(3);
    assertThat(explained(ALL_NODES).getString("note")).doesNotContain("nodeSelector");
    filtered("c");
    assertThat(page(filter).getJsonObject("waiting").getString("message"))
        .startsWith("GPUs of node c fit");
  }

  private void see(String pod, int replicas, String gpu, String node) {
    world.see(FakeWorld.pod(pod, replicas, "tranche.dev/gpu=" + gpu).on(node));
  }

  /** kube-scheduler has not asked since. */
  @Test
  void nodeThatIsCutAnewAfterFilter_isShownAsItIs() {
    world.report("a", new Gpu("a0", 0.2, 0));
    world.report("b", new Gpu("b0", 0.2, 0));
    see("x", 9, "b0", "b");
    world.see(FakeWorld.pod("p", 3));
    world.filter().filter(FakeWorld.pod("p", 3), List.of("a", "b"), false);
    world.state.apply(new Event.Release("p"));
    assertThat(explained().getInteger("fittedCount")).isOne();
    var gpu = TestFacts.gpu("a0", 0, 4, FakeWorld.GIB);
    var state = new NodeState(true, List.of(gpu), Map.of(), true, Map.of(), List.of());
    world.state.reported(new Event.Reported("a", state, OptionalLong.of(0)), Map.of());
    JsonObject explained = explained();
    assertThat(explained.getInteger("fittedCount")).isZero();
    assertThat(explained.getJsonArray("fitted")).isEmpty();
    assertThat(explained.getInteger("refusedCount")).isEqualTo(2);
    assertThat(explained.getJsonArray("refusedByReason"))
        .contains(new JsonObject().put("message", Reason.OTHER_REPLICAS.sentence).put("nodes", 1));
    assertThat(explained.encode()).doesNotContain("gpu 0: 1 free, needs 0.3 of one GPU\"");
  }

  @Test
  void unknownPod_isNone() {
    assertThat(world.explain().of("ns/p")).isEmpty();
  }

  /** kube-scheduler may also call for it once more. */
  @Test
  void deletedPod_isUnknownAtOnce() {
    world.report("a", new Gpu("a0", 0.2, 0));
    PodFacts pod = FakeWorld.pod("p", 3);
    world.filter().filter(pod, List.of("a"), false);
    world.see(pod);
    assertThat(world.explain().of(pod.key())).isPresent();
    world.state.apply(new Event.PodGone(pod.uid(), pod.key()));
    assertThat(world.explain().of(pod.key())).isEmpty();
    world.filter().filter(pod, List.of("a"), false);
    world.prioritize().prioritize(pod, List.of("a"));
    assertThat(world.explain().of(pod.key())).isEmpty();
  }

  /** As of a StatefulSet. A late event of the first one says nothing about the second. */
  @Test
  void podOfTheSameName_isExplainedByItsOwnDecision() {
    world.report("a", new Gpu("a0", 0.2, 0));
    PodFacts second = FakeWorld.pod("p", 3);
    world.filter().filter(second, List.of("a"), false);
    world.state.apply(new Event.PodGone("uid of the first", second.key()));
    assertThat(explained().getInteger("fittedCount")).isOne();
  }

  /** Decisions on pods wait for one turn alone. */
  @Test
  void nodes_areReadInShortTurns() {
    List<String> names = IntStream.range(0, 50).mapToObj(i -> "node-" + i).toList();
    names.forEach(node -> world.report(node, new Gpu(node + "-0", 0.2, 0)));
    PodFacts pod = FakeWorld.pod("p", 3);
    var found = new ArrayList<NodeSnapshot>();
    world.stepMs = 1;
    int turns = 0;
    for (int next = 0; next < names.size(); turns++) {
      int from = next;
      next = world.evaluator.addSnapshots(pod, names, from, found);
      assertThat(next - from).isBetween(1, (int) Turn.MS_MAX);
    }
    assertThat(turns).isGreaterThanOrEqualTo(10);
    assertThat(found).extracting(NodeSnapshot::node).isEqualTo(names);
  }
}
