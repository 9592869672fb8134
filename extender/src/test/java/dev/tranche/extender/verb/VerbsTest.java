package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.placement.MemoryGuard;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.Scores;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.state.ReadinessGate;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class VerbsTest {
  private static final long GIB = FakeWorld.GIB;
  private static final List<String> BOTH = List.of("a", "b");
  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final FakeWorld.FilterNow filter = world.filter();
  private final Prioritize prioritize = world.prioritize();

  @Test
  void prioritize_reservesTheWinnerSoThatTheNextPodGoesElsewhere() {
    world.report("a", new Gpu("a0", 0.2, 0));
    world.report("b", new Gpu("b0", 0.4, 0));
    assertThat(score("p1", "a")).isGreaterThan(score("p1", "b"));
    assertThat(world.ledger.hold("p1").orElseThrow().node()).isEqualTo("a");
    // 0.2 measured and 0.3 expected are more than 0.4.
    assertThat(score("p2", "b")).isGreaterThan(score("p2", "a"));
  }

  @Test
  void prioritize_youngPodFadesAsTheMeanFollows() {
    world.report("a", new Gpu("a0", 0.2, 0));
    world.see(FakeWorld.pod("p", 3, "tranche.dev/gpu=a0").on("a"));
    assertThat(load("a")).isEqualTo(0.5);
    world.nowMs += Timing.DEFAULT.youngMs() / 2;
    world.report("a", new Gpu("a0", 0.3, 0));
    assertThat(load("a")).isEqualTo(0.45);
    world.nowMs += Timing.DEFAULT.youngMs();
    world.report("a", new Gpu("a0", 0.35, 0));
    assertThat(load("a")).isEqualTo(0.35);
  }

  @Test
  void prioritize_staleReading_isNeutral() {
    world.report("a", new Gpu("a0", 0.9, 0));
    world.nowMs += 15_001;
    world.report("b", new Gpu("b0", 0.1, 0));
    var evaluation = world.evaluator.evaluate(FakeWorld.pod("p", 3), "a");
    assertThat(evaluation.gpus().getFirst().measured()).isFalse();
    assertThat(score("p", "a")).isBetween(5, 8);
  }

  @Test
  void prioritize_packedByAnnotation_hasOneWinner() {
    world.report("a", new Gpu("a0", 0.1, 0));
    world.report("b", new Gpu("b0", 0.9, 0));
    world.see(FakeWorld.pod("x", 7, "tranche.dev/gpu=b0").on("b"));
    var scores =
        prioritize.prioritize(FakeWorld.pod("p", 3, Names.GPU_PLACEMENT + "=packed"), BOTH);
    assertThat(scores).containsEntry("a", 0).containsEntry("b", Scores.PACKED_WINNER);
  }

  @Test
  void filter_packed_choosesAndOffersTheOneNode() {
    for (String node : BOTH) {
      world.report(node, new Gpu(node + "0", 0, 0), new Gpu(node + "1", 0, 0));
    }
    world.see(FakeWorld.pod("x", 7, "tranche.dev/gpu=b1").on("b"));
    var pod = FakeWorld.pod("p", 3, Names.GPU_PLACEMENT + "=packed");
    var one = world.filter(1).filter(pod, BOTH, false);
    assertThat(one).isEqualTo(new Filter.Answer.Nodes(List.of("b"), Map.of()));
    assertThat(world.ledger.hold("p"))
        .hasValueSatisfying(hold -> assertThat(hold.held()).containsExactly(Map.entry("b1", 3)));
    assertThat(prioritize.prioritize(pod, BOTH)).containsEntry("b", Scores.PACKED_WINNER);
    assertThat(world.filter(1).filter(pod, BOTH, true))
        .isEqualTo(new Filter.Answer.Nodes(BOTH, Map.of()));
  }

  @Test
  void withoutGpu_packed_keepsOffTheCpuThatGpusNeed() {
    var packed = new FakeWorld(Policy.PACKED);
    for (String node : BOTH) {
      packed.report(node, new Gpu(node + "0", 0, 0));
      packed.packing.hosts.node(node, new HostRequest(node.equals("a") ? 8_000 : 64_000, 1_024));
    }
    packed.packing.requested("x", new HostRequest(8_000, 512));
    packed.see(FakeWorld.pod("x", 5, "tranche.dev/gpu=c0").on("c"));
    var byHost = packed.prioritize();
    assertThat(byHost.withoutGpu(new HostRequest(4_000, 128), BOTH, false))
        .containsEntry("a", 0)
        .containsEntry("b", Scores.PACKED_WINNER);
    assertThat(byHost.withoutGpu(new HostRequest(4_000, 128), BOTH, true)).isEmpty();
    assertThat(prioritize.withoutGpu(new HostRequest(4_000, 128), BOTH, false)).isEmpty();
  }

  @Test
  void withoutGpu_packed_isNotDrawnToNodesThatAreNotHeardYet() {
    var packed = new FakeWorld(Policy.PACKED);
    packed.state.apply(new Event.NodeSeen(new NodeFacts("a", Set.of(), "", true)));
    packed.packing.hosts.node("a", new HostRequest(8_000, 1_024));
    var byHost = packed.prioritize();
    assertThat(byHost.withoutGpu(new HostRequest(4_000, 128), BOTH, false)).isEmpty();
    packed.nowMs += ReadinessGate.FIRST_REPORTS_MS;
    assertThat(byHost.withoutGpu(new HostRequest(4_000, 128), BOTH, false)).isNotEmpty();
  }

  @Test
  void prioritize_beforeTheCacheIsWarm_scoresAlike() {
    var cold = new FakeWorld(Policy.LOAD);
    cold.readiness.closeWhile(() -> java.util.Optional.of("another leads"), () -> 0);
    assertThat(cold.prioritize().prioritize(FakeWorld.pod("p", 3), BOTH)).isEmpty();
  }

  @Test
  void filter_idleGpusScarce_offersTheNodeWhereLeastIsLost() {
    var offering = world.filter(64);
    world.report("idle", gpus("i", 7, 0));
    world.report("half", gpus("h", 8, 0.5));
    world.report("busy", gpus("b", 1, 0.95));
    List<String> names = List.of("idle", "half", "busy");
    // Whoever asks for little does not need an idle GPU; whoever asks for much may.
    assertThat(offered(offering, "small", 1, names)).containsExactly("half");
    assertThat(world.ledger.hold("small").orElseThrow().node()).isEqualTo("half");
    assertThat(offered(offering, "large", 5, names)).containsExactly("idle");
    world.report("half", gpus("h", 8, 0));
    world.report("busy", gpus("b", 4, 0));
    assertThat(offered(offering, "other", 1, names)).containsExactlyElementsOf(names);
    assertThat(world.explanations.get("ns/small").orElseThrow().policy())
        .isEqualTo(Policy.LOAD_SPARING_IDLE);
    assertThat(world.explanations.get("ns/other").orElseThrow().policy()).isEqualTo(Policy.LOAD);
  }

  private static Gpu[] gpus(String prefix, int count, double sm) {
    return IntStream.range(0, count).mapToObj(i -> new Gpu(prefix + i, sm, 0)).toArray(Gpu[]::new);
  }

  private static List<String> offered(
      FakeWorld.FilterNow by, String pod, int replicas, List<String> names) {
    var answer = by.filter(FakeWorld.pod(pod, replicas), names, false);
    return ((Filter.Answer.Nodes) answer).nodes();
  }

  @Test
  void filter_oneNodeLeft_isReserved() {
    world.report("a", new Gpu("a0", 0.2, 0));
    filter.filter(FakeWorld.pod("p", 3), BOTH, false);
    assertThat(world.ledger.hold("p").orElseThrow().node()).isEqualTo("a");
  }

  @Test
  void filter_reasons() {
    world.report("a", new Gpu("a0", 0, 9 * GIB));
    assertThat(nodes(FakeWorld.pod("p", 3)).refused())
        .containsEntry(Reason.MEMORY, List.of("a"))
        .containsEntry(Reason.NO_REPORT, List.of("b"));
    assertThat(nodes(FakeWorld.pod("q", 3, Names.GPU_MODEL + "=A100")).refused())
        .containsEntry(Reason.NOT_ALLOWED, List.of("a"));
  }

  @Test
  void filter_roomHeldTentatively_isTransient() {
    world.report("a", new Gpu("a0", 0, 0));
    filter.filter(FakeWorld.pod("p", 8), BOTH, false);
    assertThat(filter.filter(FakeWorld.pod("q", 8), BOTH, false))
        .isInstanceOf(Filter.Answer.Undecided.class);
    // Asked about again, the first pod does not stand in its own way.
    assertThat(nodes(FakeWorld.pod("p", 8)).nodes()).containsExactly("a");
  }

  @Test
  void filter_memoryGrantedToATentativePod_isTaken() {
    world.report("a", new Gpu("a0", 0, 6 * GIB));
    world.see(FakeWorld.pod("p", 5, "tranche.dev/gpu=a0").on("a"));
    // 5 GiB are granted, 6 measured: one is somebody else's, or p has more than its share.
    assertThat(nodes(FakeWorld.pod("q", 5)).refused()).containsEntry(Reason.MEMORY, List.of("a"));
    assertThat(nodes(FakeWorld.pod("r", 4)).nodes()).containsExactly("a");
  }

  @Test
  void memory_measuredPerPod_countsOverItsGrantAndForNobodyKnown() {
    world.report("a", new Gpu("a0", 0, 6 * GIB, Map.of("ns/p", 6 * GIB)));
    world.see(FakeWorld.pod("p", 5, "tranche.dev/gpu=a0").on("a"));
    assertThat(memoryFree("a")).isEqualTo(4 * GIB);
    // Idle on its grant, and 6 GiB are somebody else's: both count.
    world.report("a", new Gpu("a0", 0, 6 * GIB, Map.of("other/x", 6 * GIB)));
    assertThat(memoryFree("a")).isZero();
    world.report("a", new Gpu("a0", 0, 4 * GIB, Map.of("ns/p", 3 * GIB)));
    assertThat(memoryFree("a")).isEqualTo(4 * GIB);
  }

  @Test
  void memoryOfAnIdleDriver_leavesTheWholeGpuPlaceable() {
    world.report("a", new Gpu("a0", 0, 150L << 20));
    assertThat(nodes(FakeWorld.pod("whole", 10)).nodes()).contains("a");
    world.report("a", new Gpu("a0", 0, 250L << 20));
    assertThat(nodes(FakeWorld.pod("whole", 10)).refused())
        .containsEntry(Reason.MEMORY, List.of("a"));
  }

  @Test
  void memoryGuard_score_refusesNothingButScoresWorse() {
    var scoring = new FakeWorld(Policy.LOAD, MemoryGuard.SCORE);
    scoring.report("a", new Gpu("a0", 0, 9 * GIB));
    scoring.report("b", new Gpu("b0", 0, 0));
    var scores = scoring.prioritize().prioritize(FakeWorld.pod("p", 3), BOTH);
    assertThat(scores.get("a")).isPositive().isLessThan(scores.get("b"));
  }

  @Test
  void memoryGuard_off_countsGrantsOnly() {
    var off = new FakeWorld(Policy.LOAD, MemoryGuard.OFF);
    off.report("a", new Gpu("a0", 0, 9 * GIB));
    var gpu = off.evaluator.evaluate(FakeWorld.pod("p", 3), "a").gpus().getFirst();
    assertThat(gpu.memoryFreeBytes()).isEqualTo(10 * GIB);
    assertThat(gpu.replicasByMemory()).isEqualTo(10);
  }

  private long memoryFree(String node) {
    var gpu = world.evaluator.evaluate(FakeWorld.pod("any", 1), node).gpus().getFirst();
    return gpu.memoryFreeBytes();
  }

  @Test
  void rejectedPod_isWokenOnceWhenItFits() {
    world.report("a", new Gpu("a0", 0, 9 * GIB));
    nodes(FakeWorld.pod("p", 3));
    assertThat(world.rejection("p")).contains("gpu 0: 1 free, needs 0.3 of one GPU");
    world.report("a", new Gpu("a0", 0, 8 * GIB));
    world.tick();
    assertThat(world.woken).isEmpty();
    world.report("a", new Gpu("a0", 0, 2 * GIB));
    world.tick();
    world.report("a", new Gpu("a0", 0, GIB));
    world.pass(5_000);
    assertThat(world.woken).containsExactly("a");
  }

  @Test
  void rejectedPod_isWokenWhenMemoryTurnsOutToBeAKnownPods() {
    world.report("a", new Gpu("a0", 0, 8 * GIB, Map.of("ns/x", 3 * GIB)));
    addPod("x", 5, "a0");
    assertThat(nodes(FakeWorld.pod("p", 2)).refused()).containsEntry(Reason.MEMORY, List.of("a"));
    world.tick();
    assertThat(world.woken).isEmpty();
    world.report("a", new Gpu("a0", 0, 8 * GIB, Map.of("ns/x", 5 * GIB)));
    world.tick();
    assertThat(world.woken).containsExactly("a");
  }

  @Test
  void rejectedPod_isWokenWhenAPodThatOnlyTheKubeletKnewIsSeen() {
    world.holdings = Map.of("ns/x", Map.of("main", Map.of("a0", 5)));
    world.report("a", new Gpu("a0", 0, 5 * GIB, Map.of("ns/x", 5 * GIB)));
    assertThat(nodes(FakeWorld.pod("p", 3)).refused()).containsEntry(Reason.MEMORY, List.of("a"));
    world.tick();
    assertThat(world.woken).isEmpty();
    addPod("x", 5, "a0");
    world.tick();
    assertThat(world.woken).containsExactly("a");
  }

  @Test
  void rejectedPod_thatOnlyAHoleKeepsWaiting_isCounted() {
    world.report("a", new Gpu("a0", 0, 0), new Gpu("a1", 0, 0));
    addPod("x", 8, "a0");
    addPod("y", 8, "a1");
    assertThat(nodes(FakeWorld.pod("p", 3)).refused())
        .containsEntry(Reason.FRAGMENTED, List.of("a"));
    assertThat(nodes(FakeWorld.pod("q", 5)).refused()).containsEntry(Reason.FULL, List.of("a"));
    world.tick();
    assertThat(world.waiting.fragmented()).as("it may be deleted").isZero();
    world.see(FakeWorld.pod("p", 3));
    world.tick();
    assertThat(world.waiting.fragmented()).isOne();
  }

  private void addPod(String pod, int replicas, String gpu) {
    world.see(FakeWorld.pod(pod, replicas, "tranche.dev/gpu=" + gpu).on("a"));
  }

  @Test
  void beforeTheClusterIsRead_nothingIsDecided() {
    var cold = FakeWorld.unsynced(new SimpleMeterRegistry());
    String unread = "the extender has not read the cluster's pods and nodes yet";
    assertThat(cold.readiness.notReady()).hasValue(unread);
    assertThat(cold.filter().filter(FakeWorld.pod("p", 3), BOTH, false))
        .isEqualTo(new Filter.Answer.Undecided(unread));
  }

  @Test
  void silentNodes_areWaitedForAtFirstWhileOthersTakePods() {
    BOTH.forEach(
        node -> world.state.apply(new Event.NodeSeen(new NodeFacts(node, Set.of(), "", true))));
    assertThat(filter.filter(FakeWorld.pod("p", 3), BOTH, false))
        .isEqualTo(
            new Filter.Answer.Undecided(
                "the extender waits up to 3 s for the GPU nodes' first reports"));
    world.report("a", new Gpu("a0", 0.5, 0));
    assertThat(nodes(FakeWorld.pod("p", 3)).nodes()).containsExactly("a");
    world.nowMs += ReadinessGate.FIRST_REPORTS_MS;
    assertThat(filter.filter(FakeWorld.pod("p", 3), List.of("b"), false))
        .isEqualTo(new Filter.Answer.Nodes(List.of(), Map.of(Reason.NO_REPORT, List.of("b"))));
  }

  @Test
  void reportOfANodeThatIsGone_isForgottenWithItsStream() {
    world.state.apply(new Event.NodeGone("a"));
    world.report("a", new Gpu("a0", 0.5, 0));
    assertThat(world.loads.get("a", "a0")).isPresent();
    world.state.apply(new Event.StreamLost("a"));
    assertThat(world.loads.get("a", "a0")).isEmpty();
  }

  @Test
  void filter_thatIsLateWithWhatIsTransient_isGivenUp() {
    assertThat(IntStream.rangeClosed(10, 200).anyMatch(this::lateAfterTheNodes)).isTrue();
  }

  /** Another scheduler's pod on a node that its kubelet never lists: its GPU is never known. */
  @Test
  void aStrangerWhoseGpuIsNeverKnown_isNotWaitedForForEver() {
    world.report("a", new Gpu("a0", 0, 0));
    var stranger = FakeWorld.pod("stranger", 10).on("a");
    world.see(stranger);
    var pod = FakeWorld.pod("p", 3);
    assertThat(filter.filter(pod, List.of("a"), false)).isInstanceOf(Filter.Answer.Undecided.class);
    world.nowMs += NodeEvaluator.UNKNOWN_GPU_MS;
    world.report("a", new Gpu("a0", 0, 0));
    assertThat(filter.filter(pod, List.of("a"), false))
        .isInstanceOfSatisfying(
            Filter.Answer.Nodes.class,
            nodes -> assertThat(nodes.refused().values()).containsExactly(List.of("a")));
  }

  /** Late, though it has looked at all nodes: the trace is written then. */
  private boolean lateAfterTheNodes(int stepMs) {
    var slow = new FakeWorld(Policy.LOAD);
    List<String> names = IntStream.range(0, 9).mapToObj(i -> "n" + i).toList();
    for (String node : names) {
      slow.report(node, new Gpu(node + "0", 0, 0));
      slow.see(FakeWorld.pod("x" + node, 9, "tranche.dev/gpu=" + node + "0").on(node));
    }
    slow.stepMs = stepMs;
    var answer = slow.filter().filter(FakeWorld.pod("p", 3), names, false);
    return answer.equals(new Filter.Answer.Undecided(NodeEvaluator.LATE))
        && slow.explanations.get("ns/p").isPresent();
  }

  @Test
  void listsOfAPod_areReadOnceForAllNodes() {
    BOTH.forEach(node -> world.report(node, new Gpu(node + "0", 0, 0)));
    var pod = FakeWorld.pod("p", 3, "tranche.dev/gpu-uuid=!GPU-x");
    assertThat(world.evaluator.evaluateIgnoringTemporaryHolds(pod, "a", Set.of()).request())
        .isSameAs(world.evaluator.evaluateIgnoringTemporaryHolds(pod, "b", Set.of()).request());
    assertThat(world.evaluator.evaluateWithout(pod, "a", Set.of()).request())
        .isSameAs(world.evaluator.evaluateIgnoringTemporaryHolds(pod, "b", Set.of()).request());
  }

  @Test
  void decision_thatTakesTooLong_isGivenUp() {
    world.report("a", new Gpu("a0", 0, 0));
    world.stepMs = NodeEvaluator.DECIDE_WITHIN_MS + 1;
    assertThat(filter.filter(FakeWorld.pod("p", 3), BOTH, false))
        .isEqualTo(new Filter.Answer.Undecided(NodeEvaluator.LATE));
    assertThat(prioritize.prioritize(FakeWorld.pod("p", 3), BOTH)).isEmpty();
  }

  @Test
  void rejectedPod_isWokenWhenTheNodesStreamReturns() {
    nodes(FakeWorld.pod("p", 3));
    world.report("b", new Gpu("b0", 0, 0));
    world.tick();
    assertThat(world.woken).containsExactly("b");
  }

  @Test
  void rejectedPod_thatAReadShowsBoundOrGone_isNotTriedAgain() {
    var pod = FakeWorld.pod("p", 3);
    nodes(pod);
    assertThat(world.waiting.size()).isOne();
    world.state.apply(new Event.PodChecked("p", "ns/p", pod.on("a"), world.nowMs));
    assertThat(world.waiting.size()).isZero();
    nodes(FakeWorld.pod("q", 3));
    assertThat(world.waiting.size()).isOne();
    world.state.apply(new Event.PodChecked("q", "ns/q", null, world.nowMs));
    assertThat(world.waiting.size()).isZero();
  }

  @Test
  void rejectedPod_isWokenAgainWhenThePatchFails() {
    Promise<Void> slow = Promise.promise();
    world.patched = slow.future();
    nodes(FakeWorld.pod("p", 3));
    world.report("b", new Gpu("b0", 0, 0));
    ticks(5);
    assertThat(world.woken).containsExactly("b");
    slow.fail("the API server is away");
    world.patched = Future.succeededFuture();
    ticks(5);
    assertThat(world.woken).containsExactly("b", "b");
    assertThat(world.waiting.size()).isZero();
  }

  private void ticks(int seconds) {
    for (int i = 0; i < seconds; i++) {
      world.pass(1_000);
    }
  }

  @Test
  void notSynced_isSaid() {
    var cold = new FakeWorld(Policy.LOAD);
    cold.readiness.closeWhile(() -> java.util.Optional.of("another leads"), () -> 0);
    assertThat(cold.filter().filter(FakeWorld.pod("p", 3), BOTH, false))
        .isEqualTo(new Filter.Answer.Undecided("another leads"));
  }

  private int score(String pod, String node) {
    return prioritize.prioritize(FakeWorld.pod(pod, 3), BOTH).getOrDefault(node, -1);
  }

  private double load(String node) {
    var gpu = world.evaluator.evaluate(FakeWorld.pod("any", 1), node).gpus().getFirst();
    return Math.round(gpu.smLoad() * 1_000) / 1_000.0;
  }

  private Filter.Answer.Nodes nodes(dev.tranche.extender.ledger.PodFacts pod) {
    return (Filter.Answer.Nodes) filter.filter(pod, BOTH, false);
  }
}
