package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand;
import dev.tranche.api.GpuPart;
import dev.tranche.api.Names;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class LedgerTest extends LedgerRig {
  @Test
  void reserve_takesRoomAndExpires() {
    report(NODE, Map.of());
    apply(new Event.Reserve(pod("p", null), NODE, on("gpu-0", 3)));
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(pass(Timing.DEFAULT.tentativeMs()))
        .containsExactly(new Decision.Expired(NODE, "ns/p"), new Decision.CapacityGrew(NODE));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  @Test
  void reserve_again_replaces() {
    report(NODE, Map.of());
    report("node-b", Map.of());
    apply(new Event.Reserve(pod("p", null), NODE, on("gpu-0", 3)));
    assertThat(apply(new Event.Reserve(pod("p", null), "node-b", on("gpu-1", 3))))
        .containsExactly(new Decision.CapacityGrew(NODE));
    assertThat(free("gpu-0")).isEqualTo(10);
    assertThat(ledger.holds("node-b")).hasSize(1);
  }

  @Test
  void bind_assignsThenHoldsUntilThePodEnds() {
    report(NODE, Map.of());
    var assigned = apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-0", 3)));
    assertThat(assigned).hasOnlyElementsOfType(Decision.Assign.class).hasSize(1);
    apply(new Event.BindDone("p"));
    apply(new Event.PodSeen(pod("p", NODE)));
    pass(1_000_000);
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(apply(new Event.PodGone("p", "ns/p")))
        .containsExactly(new Decision.Retract(NODE, "p"), new Decision.CapacityGrew(NODE));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  /** kubernetes/kubernetes#137534: both pods use that part of the GPU. */
  @Test
  void replicaThatTheKubeletGaveToTwoPods_isTakenByBoth() {
    var same = Map.of("main", Map.of("gpu-0", 3));
    report(NODE, Map.of());
    apply(new Event.PodSeen(pod("p", NODE, "gpu-0")));
    apply(new Event.PodSeen(pod("q", NODE, "gpu-1")));
    nowMs += 10_000;
    report(NODE, Map.of("ns/p", same, "ns/q", same));
    assertThat(free("gpu-0")).isEqualTo(4);
    // Also if no informer has shown the second one yet.
    report(NODE, Map.of("ns/p", same, "ns/q", same, "ns/r", same));
    assertThat(free("gpu-0")).isEqualTo(1);
  }

  /** Both were granted under ten replicas, of which the node makes four now. */
  @Test
  void replicaThatTheKubeletGaveToTwoPods_ofAnEarlierConfig_isTakenByBoth() {
    var same = Map.of("main", Map.of("gpu-0", 3));
    var holdings = Map.of("ns/p", same, "ns/q", same);
    report(NODE, holdings);
    apply(new Event.PodSeen(pod("p", NODE, "gpu-0")));
    apply(new Event.PodSeen(pod("q", NODE, "gpu-0")));
    nowMs += 10_000;
    report(NODE, holdings);
    var grant = Map.of("gpu-0", new NodeState.Grant(10, true));
    var quarters = List.of(withheld(gpu("gpu-0", 0, 4), 3), gpu("gpu-1", 1, 4));
    apply(
        reported(
            NODE,
            new NodeState(
                true, quarters, holdings, true, Map.of("ns/p", grant, "ns/q", grant), List.of())));
    assertThat(free("gpu-0")).as("six tenths leave one quarter").isOne();
    assertThat(view("gpu-0").earlier()).isEqualTo(GpuPart.of(6, 10));
    assertThat(free("gpu-1")).isEqualTo(4);
    // The node withholds both parts until its next list.
    apply(new Event.PodSeen(ended("q", NODE)));
    assertThat(free("gpu-0")).isOne();
  }

  /** They are another part of the GPU to the kubelet, though R is the same. */
  @Test
  void replicasOfAFormerResource_areOfAnEarlierConfig() {
    var holdings = Map.of("ns/p", Map.of("main", Map.of("gpu-0", 3)));
    report(NODE, holdings);
    apply(new Event.PodSeen(pod("p", NODE, "gpu-0")));
    nowMs += 10_000;
    report(NODE, holdings);
    var renamed =
        new GpuFacts(
            "gpu-0", 0, "T4", "nvidia.com/gpu.shared", 10, 1, true, "", 0, "", 3, Map.of());
    var grants = Map.of("ns/p", Map.of("gpu-0", new NodeState.Grant(10, true)));
    apply(reported(NODE, new NodeState(true, List.of(renamed), holdings, true, grants, List.of())));
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(view("gpu-0").earlier()).isEqualTo(GpuPart.of(3, 10));
  }

  private static GpuFacts withheld(GpuFacts gpu, int replicas) {
    return TestFacts.gpu(
        gpu.uuid(), gpu.index(), gpu.replicas(), gpu.memoryUsableBytes(), replicas);
  }

  @Test
  void bind_failed_retracts() {
    report(NODE, Map.of());
    apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-0", 3)));
    assertThat(apply(new Event.BindFailed("p")))
        .containsExactly(new Decision.Retract(NODE, "p"), new Decision.CapacityGrew(NODE));
  }

  @Test
  void bind_unknownButSeenByTheInformer_isKept() {
    report(NODE, Map.of());
    apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-0", 3)));
    apply(new Event.BindUnknown("p"));
    apply(new Event.PodSeen(pod("p", NODE)));
    pass(2 * Timing.DEFAULT.unknownBindMs());
    assertThat(free("gpu-0")).isEqualTo(7);
  }

  /** What comes late of a verb, or from another replica's scheduler. */
  @Test
  void bound_isMovedByNoVerb() {
    report(NODE, Map.of());
    report("node-b", Map.of());
    apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-0", 3)));
    assertThat(apply(new Event.Release("p"))).isEmpty();
    apply(new Event.PodSeen(pod("p", NODE)));
    for (Event late :
        List.of(
            new Event.Release("p"),
            new Event.Reserve(pod("p", null), "node-b", on("gpu-0", 3)),
            new Event.BindStarted(pod("p", null), "node-b", on("gpu-0", 3)),
            new Event.BindFailed("p"),
            new Event.BindUnknown("p"),
            new Event.BindDone("p"))) {
      assertThat(apply(late)).as("%s", late).isEmpty();
      assertThat(free("gpu-0")).as("%s", late).isEqualTo(7);
    }
    pass(10 * Timing.DEFAULT.unknownBindMs());
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(ledger.holds("node-b")).isEmpty();
  }

  @Test
  void echo_ofAPodThatIsBoundElsewhere_isRetracted() {
    report(NODE, Map.of());
    apply(new Event.PodSeen(pod("p", "node-b")));
    assertThat(apply(reported(NODE, state(Map.of(), List.of(echo("p", "gpu-0"))))))
        .contains(new Decision.Retract(NODE, "p"));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  @Test
  void readBack_elsewhere_movesTheHoldAndSaysSo() {
    report(NODE, Map.of());
    apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-0", 3)));
    apply(new Event.PodSeen(pod("p", NODE)));
    var decisions = report(NODE, Map.of("ns/p", Map.of("main", Map.of("gpu-1", 3))));
    assertThat(decisions)
        .contains(new Decision.Drifted(NODE, "ns/p", List.of("gpu-0"), List.of("gpu-1")));
    assertThat(free("gpu-0")).isEqualTo(10);
    assertThat(free("gpu-1")).isEqualTo(7);
    assertThat(ledger.hold("p").orElseThrow().confirmed()).isTrue();
  }

  @Test
  void readBack_withoutThePod_freesNothing() {
    report(NODE, Map.of());
    apply(new Event.PodSeen(pod("p", NODE, "gpu-0")));
    report(NODE, Map.of());
    assertThat(free("gpu-0")).isEqualTo(7);
  }

  @Test
  void readBack_ofAPodNotSeenYet_takesRoom() {
    report(NODE, Map.of("ns/static", Map.of("main", Map.of("gpu-1", 4))));
    assertThat(free("gpu-1")).isEqualTo(6);
    apply(new Event.PodGone("s", "ns/static"));
    report(NODE, Map.of());
    assertThat(free("gpu-1")).isEqualTo(10);
  }

  /** Static pods, before the API server has their mirrors; each container is a client. */
  @Test
  void mpsClients_ofPodsThatOnlyTheKubeletKnows_count() {
    report(
        NODE,
        Map.of("ns/static", Map.of("main", Map.of("gpu-1", 4), "second", Map.of("gpu-1", 1))));
    assertThat(clients("gpu-0")).isZero();
    assertThat(clients("gpu-1")).isEqualTo(2);
    apply(new Event.PodSeen(named("s", "static", NODE, true, null)));
    assertThat(clients("gpu-1")).isPositive();
  }

  @Test
  void readBack_ofAFinishedPod_takesNone() {
    apply(new Event.PodSeen(ended("p", NODE)));
    report(NODE, Map.of("ns/p", Map.of("main", Map.of("gpu-0", 3))));
    pass(1_000_000);
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  /** So do its MPS clients: each replica may be another container's. */
  @Test
  void boundByOthers_withoutAPlace_countsOnEveryGpu_untilReadBack() {
    report(NODE, Map.of());
    apply(new Event.PodSeen(pod("p", NODE)));
    for (String gpu : List.of("gpu-0", "gpu-1")) {
      assertThat(free(gpu)).isEqualTo(7);
      assertThat(clients(gpu)).isEqualTo(3);
    }
    report(NODE, Map.of("ns/p", Map.of("main", Map.of("gpu-1", 3))));
    assertThat(free("gpu-0")).isEqualTo(10);
    assertThat(free("gpu-1")).isEqualTo(7);
    assertThat(clients("gpu-0")).isZero();
    assertThat(clients("gpu-1")).isOne();
  }

  @Test
  void boundBeforeTheFirstReport_isPlacedByItsAnnotation() {
    apply(new Event.PodSeen(pod("p", NODE, "gpu-1")));
    report(NODE, Map.of());
    assertThat(free("gpu-0")).isEqualTo(10);
    assertThat(free("gpu-1")).isEqualTo(7);
  }

  /** Of two of our resources: placed nowhere by us, so others bound it. */
  @Test
  void podOfSeveralResources_countsOnTheGpusOfEachUntilReadBack() {
    report(NODE, Map.of());
    var request = new Demand.Request("main", Demand.Kind.APP, 3);
    String both = Names.RESOURCE + " and nvidia.com/gpu.shared";
    apply(
        new Event.PodSeen(
            new PodFacts("p", "ns", "p", NODE, false, false, both, List.of(request), Map.of())));
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(free("gpu-1")).isEqualTo(7);
    report(NODE, Map.of("ns/p", Map.of("main", Map.of("gpu-0", 1, "gpu-1", 2))));
    assertThat(free("gpu-0")).isEqualTo(9);
    assertThat(free("gpu-1")).isEqualTo(8);
  }

  @Test
  void gpuCordonedOnItsNode_isSeenSo_andWakesWhenItIsNot() {
    report(NODE, Map.of());
    apply(new Event.NodeSeen(new NodeFacts(NODE, java.util.Set.of("gpu-1"), "", true)));
    assertThat(view("gpu-0").cordoned()).isFalse();
    assertThat(view("gpu-1").cordoned()).isTrue();
    assertThat(apply(new Event.NodeSeen(new NodeFacts(NODE, java.util.Set.of(), "", true))))
        .containsExactly(new Decision.CapacityGrew(NODE));
  }

  @Test
  void clientSlotsThatGrow_areRoom() {
    apply(reported(NODE, mps(1)));
    apply(new Event.Reserve(pod("p", null), NODE, on("gpu-0", 3)));
    assertThat(view("gpu-0").heldClients()).isOne();
    assertThat(apply(reported(NODE, mps(1)))).isEmpty();
    assertThat(apply(reported(NODE, mps(2)))).containsExactly(new Decision.CapacityGrew(NODE));
  }

  private static NodeState mps(int clientsMax) {
    var gpu = TestFacts.mpsGpu("gpu-0", 0, 10, 1 << 30, clientsMax);
    return new NodeState(true, List.of(gpu), Map.of(), true, Map.of(), List.of());
  }

  @Test
  void lateEvents_changeNothing() {
    report(NODE, Map.of());
    apply(new Event.PodSeen(ended("p", NODE)));
    apply(new Event.PodSeen(pod("p", NODE)));
    apply(new Event.PodGone("q", "ns/q"));
    apply(new Event.PodSeen(pod("q", NODE)));
    assertThat(ledger.holds(NODE)).isEmpty();
  }

  @Test
  void echo_ofAnotherReplicasBind_isHeld() {
    apply(reported(NODE, state(Map.of(), List.of(echo("p", "gpu-0")))));
    assertThat(free("gpu-0")).isEqualTo(7);
    apply(new Event.PodSeen(pod("p", NODE)));
    assertThat(ledger.hold("p").orElseThrow().held()).containsEntry("gpu-0", 3);
  }

  @Test
  void echo_ofAPodThatIsGone_isRetracted() {
    apply(new Event.PodGone("p", "ns/p"));
    assertThat(apply(reported(NODE, state(Map.of(), List.of(echo("p", "gpu-0"))))))
        .contains(new Decision.Retract(NODE, "p"));
  }

  @Test
  void sameReport_changesNothing_untilItsPodHasEnded() {
    var state =
        state(Map.of("ns/p", Map.of("main", Map.of("gpu-0", 3))), List.of(echo("p", "gpu-0")));
    apply(new Event.PodSeen(named("p", "p", NODE, true, null)));
    apply(reported(NODE, state));
    long version = ledger.version(NODE);
    assertThat(apply(reported(NODE, state))).isEmpty();
    assertThat(ledger.version(NODE)).isEqualTo(version);
    apply(new Event.PodGone("p", "ns/p"));
    assertThat(apply(reported(NODE, state))).contains(new Decision.Retract(NODE, "p"));
  }

  /**
   * Seen in a burst: the replica that is not asked took the assignment from the node that had it.
   */
  @Test
  void echo_ofAnotherReplicasSecondTry_isNotRetracted() {
    apply(reported("node-b", state(Map.of(), List.of(echo("p", "gpu-0")))));
    assertThat(apply(reported(NODE, state(Map.of(), List.of(echo("p", "gpu-0"))))))
        .noneMatch(Decision.Retract.class::isInstance);
    apply(new Event.PodSeen(pod("p", NODE)));
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(ledger.holds("node-b")).isEmpty();
  }

  /** Found by the simulator, seed 44: the replica began to lead before its watch showed the pod. */
  @Test
  void secondTryOfAnotherReplica_takesRoomOnBothNodes_whileEitherMayBeBound() {
    NodeState echoing = state(Map.of(), List.of(echo("p", "gpu-0")));
    apply(reported("node-b", echoing));
    apply(reported(NODE, echoing));
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(ledger.holds("node-b")).hasSize(1);
    // The other replica has retracted the first assignment; our hold for it stands for a while.
    apply(reported("node-b", state(Map.of(), List.of())));
    apply(reported(NODE, echoing));
    assertThat(free("gpu-0")).isEqualTo(7);
    pass(Timing.DEFAULT.tentativeMs());
    apply(new Event.PodChecked("p", "ns/p", pod("p", null), nowMs));
    apply(reported(NODE, echoing));
    assertThat(ledger.hold("p").orElseThrow().node()).isEqualTo(NODE);
    assertThat(free("gpu-0")).isEqualTo(7);
    apply(new Event.PodGone("p", "ns/p"));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  @Test
  void secondTryOfAnotherReplica_isRetracted_onceTheFirstIsBound() {
    NodeState echoing = state(Map.of(), List.of(echo("p", "gpu-0")));
    apply(reported("node-b", echoing));
    apply(reported(NODE, echoing));
    apply(new Event.PodSeen(pod("p", "node-b", "gpu-0")));
    assertThat(apply(reported(NODE, echoing)))
        .contains(new Decision.Retract(NODE, "p"), new Decision.CapacityGrew(NODE));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  @Test
  void streamReturns_unconfirmedAssignmentsAreSentAgain() {
    report(NODE, Map.of());
    apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-0", 3)));
    apply(new Event.StreamLost(NODE));
    var decisions = report(NODE, Map.of());
    assertThat(decisions).anyMatch(Decision.Assign.class::isInstance);
    assertThat(decisions).contains(new Decision.CapacityGrew(NODE));
  }

  /** A dead leader's bind is carried out after we have given up what it assigned. */
  @Test
  void boundWhereItsAssignmentWasRetracted_isAssignedAgain() {
    apply(reported(NODE, state(Map.of(), List.of(echo("p", "gpu-0")))));
    assertThat(apply(new Event.Release("p"))).contains(new Decision.Retract(NODE, "p"));
    report(NODE, Map.of());
    assertThat(apply(new Event.PodSeen(named("p", "p", NODE, false, "gpu-0"))))
        .anyMatch(this::assignsToNode);
  }

  /** The API server's conflict tells only the node; the annotation comes with the watch. */
  @Test
  void boundWithoutAnnotationAtFirst_isAssignedAgainOnceItIsKnown() {
    report(NODE, Map.of());
    apply(new Event.PodSeen(pod("p", null).on(NODE)));
    assertThat(apply(new Event.PodSeen(named("p", "p", NODE, false, "gpu-0"))))
        .anyMatch(this::assignsToNode);
  }

  @Test
  void assignmentThatAnotherReplicaRetracts_isSentAgain_butNotAtOnceOnceMore() {
    bindWithEcho("p");
    apply(new Event.BindDone("p"));
    assertThat(report(NODE, Map.of())).anyMatch(this::assignsToNode);
    assertThat(report(NODE, Map.of())).noneMatch(this::assignsToNode);
    nowMs += 5_000;
    assertThat(report(NODE, Map.of())).anyMatch(this::assignsToNode);
  }

  @Test
  void assignmentOfAnotherGpuThanThePods_isReplaced() {
    apply(reported(NODE, state(Map.of(), List.of(echo("p", "gpu-1")))));
    assertThat(apply(new Event.PodSeen(named("p", "p", NODE, false, "gpu-0"))))
        .anyMatch(this::assignsToNode);
  }

  @Test
  void assignmentThatTheKubeletHasCarriedOut_isNotSentAgain() {
    bindWithEcho("p");
    apply(new Event.PodSeen(pod("p", NODE)));
    assertThat(report(NODE, Map.of("ns/p", Map.of("main", Map.of("gpu-0", 3)))))
        .noneMatch(this::assignsToNode);
  }

  /** Its pod is not shown yet, so it cannot be confirmed. */
  @Test
  void assignmentThatTheKubeletHasCarriedOutBeforeTheWatchTells_isNotSentAgain() {
    bindWithEcho("p");
    apply(new Event.BindDone("p"));
    assertThat(report(NODE, Map.of("ns/p", Map.of("main", Map.of("gpu-0", 3)))))
        .noneMatch(this::assignsToNode);
  }

  @Test
  void podWithGpusInOrdinaryInitContainersOnly_isNotAssignedAgain() {
    report(NODE, Map.of());
    var request = new Demand.Request("warm", Demand.Kind.INIT, 3);
    var annotations = Map.of(Names.GPU, "gpu-0", Names.REPLICAS_PER_GPU, "10");
    assertThat(apply(new Event.PodSeen(TestFacts.pod("p", NODE, annotations, request))))
        .noneMatch(this::assignsToNode);
  }

  @Test
  void reportOnItsWayWhenAPodIsAssigned_doesNotAssignItAgain() {
    report(NODE, Map.of());
    apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-0", 3)));
    assertThat(report(NODE, Map.of())).noneMatch(this::assignsToNode);
  }

  /** Cut off from the API server, we do not know that another leads and has bound it elsewhere. */
  @Test
  void echoFromElsewhere_ofABindWithoutOutcome_isLeftAlone() {
    bindWithEcho("p");
    apply(new Event.BindUnknown("p"));
    assertThat(apply(reported("node-b", state(Map.of(), List.of(echo("p", "gpu-0"))))))
        .noneMatch(Decision.Retract.class::isInstance);
  }

  private void bindWithEcho(String uid) {
    report(NODE, Map.of());
    apply(new Event.BindStarted(pod(uid, null), NODE, on("gpu-0", 3)));
    apply(reported(NODE, state(Map.of(), List.of(echo(uid, "gpu-0")))));
  }

  private boolean assignsToNode(Decision decision) {
    return decision instanceof Decision.Assign(String node, var assignment) && node.equals(NODE);
  }

  @Test
  void streamLost_leavesTheNodeSilent() {
    report(NODE, Map.of());
    apply(new Event.StreamLost(NODE));
    assertThat(ledger.view(NODE, h -> true, nowMs).availability())
        .isEqualTo(NodeView.Availability.SILENT);
  }
}
