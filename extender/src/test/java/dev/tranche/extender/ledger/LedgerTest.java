package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.placement.Placement;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class LedgerTest {
  private static final String NODE = "node-a";
  private final Ledger ledger = new Ledger(Timing.DEFAULT);
  private long nowMs = 1_000;

  @Test
  void reserve_takesRoomAndExpires() {
    report(NODE, Map.of());
    apply(new Event.Reserve(pod("p", null), NODE, on("gpu-0", 3)));
    assertThat(free("gpu-0")).isEqualTo(7);
    nowMs += Timing.DEFAULT.tentativeMs();
    assertThat(apply(new Event.Tick()))
        .containsExactly(new Decision.Expired(NODE, "ns/p"), new Decision.RoomGrew(NODE));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  @Test
  void reserve_again_replaces() {
    report(NODE, Map.of());
    report("node-b", Map.of());
    apply(new Event.Reserve(pod("p", null), NODE, on("gpu-0", 3)));
    assertThat(apply(new Event.Reserve(pod("p", null), "node-b", on("gpu-1", 3))))
        .containsExactly(new Decision.RoomGrew(NODE));
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
    nowMs += 1_000_000;
    apply(new Event.Tick());
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(apply(new Event.PodGone("p", "ns/p")))
        .containsExactly(new Decision.Retract(NODE, "p"), new Decision.RoomGrew(NODE));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  @Test
  void bind_failed_retracts() {
    report(NODE, Map.of());
    apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-0", 3)));
    assertThat(apply(new Event.BindFailed("p")))
        .containsExactly(new Decision.Retract(NODE, "p"), new Decision.RoomGrew(NODE));
  }

  @Test
  void bind_unknownButSeenByTheInformer_isKept() {
    report(NODE, Map.of());
    apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-0", 3)));
    apply(new Event.BindUnknown("p"));
    apply(new Event.PodSeen(pod("p", NODE)));
    nowMs += 2 * Timing.DEFAULT.unknownBindMs();
    apply(new Event.Tick());
    assertThat(free("gpu-0")).isEqualTo(7);
  }

  @Test
  void bind_unknownAndNeverSeen_isDroppedOnceTheApiServerSaysThatItWaits() {
    apply(new Event.Synced());
    report(NODE, Map.of());
    apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-0", 3)));
    apply(new Event.BindUnknown("p"));
    nowMs += Timing.DEFAULT.unknownBindMs();
    assertThat(apply(new Event.Tick())).containsExactly(new Decision.CheckPod(NODE, "p", "ns/p"));
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(checked("p", pod("p", null))).contains(new Decision.Retract(NODE, "p"));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  /** Watch and kubelet both lag: an overloaded API server delays both. */
  @Test
  void bind_acceptedAndShownByNobody_isKeptForAsLongAsTheApiServerHasIt() {
    apply(new Event.Synced());
    report(NODE, Map.of());
    apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-0", 3)));
    apply(new Event.BindDone("p"));
    assertThat(ledger.hold("p").orElseThrow().stage()).isEqualTo(Hold.Stage.BOUND);
    nowMs += Timing.DEFAULT.unknownBindMs();
    assertThat(apply(new Event.Tick())).containsExactly(new Decision.CheckPod(NODE, "p", "ns/p"));
    // No answer: it is kept, and asked about again.
    nowMs += Timing.DEFAULT.unknownBindMs();
    assertThat(apply(new Event.Tick())).containsExactly(new Decision.CheckPod(NODE, "p", "ns/p"));
    assertThat(free("gpu-0")).isEqualTo(7);
    checked("p", pod("p", NODE, "gpu-0"));
    nowMs += 10 * Timing.DEFAULT.unknownBindMs();
    assertThat(apply(new Event.Tick())).isEmpty();
    assertThat(free("gpu-0")).isEqualTo(7);
  }

  /** Deleted before the informer has shown it with a node. */
  @Test
  void bind_doneOfAPodThatIsGone_isDroppedOnceTheApiServerSaysSo() {
    apply(new Event.Synced());
    report(NODE, Map.of());
    apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-0", 3)));
    apply(new Event.BindDone("p"));
    nowMs += Timing.DEFAULT.unknownBindMs();
    apply(new Event.Tick());
    assertThat(checked("p", null)).contains(new Decision.Retract(NODE, "p"));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  /** The API server was asked before the pod was bound a second time. */
  @Test
  void check_thatIsOlderThanTheBinding_dropsNothing() {
    apply(new Event.Synced());
    report(NODE, Map.of());
    apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-0", 3)));
    apply(new Event.BindUnknown("p"));
    nowMs += Timing.DEFAULT.unknownBindMs();
    apply(new Event.Tick());
    var late = new Event.PodChecked("p", "ns/p", pod("p", null), nowMs);
    nowMs += 500;
    apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-1", 3)));
    apply(new Event.BindDone("p"));
    apply(late);
    assertThat(free("gpu-1")).isEqualTo(7);
  }

  private List<Decision> checked(String uid, @Nullable PodFacts pod) {
    return apply(new Event.PodChecked(uid, "ns/" + uid, pod, nowMs));
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
    nowMs += 10 * Timing.DEFAULT.unknownBindMs();
    apply(new Event.Tick());
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(ledger.holds("node-b")).isEmpty();
  }

  @Test
  void echo_ofAPodThatIsBoundElsewhere_isRetracted() {
    report(NODE, Map.of());
    apply(new Event.PodSeen(pod("p", "node-b")));
    assertThat(apply(new Event.Reported(NODE, state(Map.of(), List.of(echo("p", "gpu-0"))))))
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

  /** Each replica may be another container's. */
  @Test
  void mpsClients_ofAPodOfAnotherScheduler_countOnEveryGpuUntilReadBack() {
    report(NODE, Map.of());
    apply(new Event.PodSeen(pod("p", NODE)));
    assertThat(clients("gpu-0")).isEqualTo(3);
    assertThat(clients("gpu-1")).isEqualTo(3);
    report(NODE, Map.of("ns/p", Map.of("main", Map.of("gpu-1", 3))));
    assertThat(clients("gpu-0")).isZero();
    assertThat(clients("gpu-1")).isOne();
  }

  @Test
  void readBack_ofAFinishedPod_takesNone() {
    apply(new Event.PodSeen(ended("p", NODE)));
    report(NODE, Map.of("ns/p", Map.of("main", Map.of("gpu-0", 3))));
    nowMs += 1_000_000;
    apply(new Event.Tick());
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  /** A StatefulSet's pod, deleted and made anew within the age of the node's list. */
  @Test
  void readBack_ofAnEarlierPodOfTheSameName_isIgnored() {
    var earlier = Map.of("ns/web-0", Map.of("main", Map.of("gpu-0", 3)));
    report(NODE, Map.of());
    apply(new Event.PodSeen(named("old", "web-0", NODE, false, "gpu-0")));
    report(NODE, earlier);
    assertThat(ledger.hold("old").orElseThrow().confirmed()).isTrue();
    nowMs += 500;
    apply(new Event.PodGone("old", "ns/web-0"));
    apply(new Event.BindStarted(named("new", "web-0", null, false, null), NODE, on("gpu-1", 3)));
    apply(new Event.BindDone("new"));
    nowMs += 500;
    var decisions = new java.util.ArrayList<>(report(NODE, earlier));
    decisions.addAll(apply(new Event.PodSeen(named("new", "web-0", NODE, false, "gpu-1"))));
    nowMs += 500;
    decisions.addAll(report(NODE, earlier));
    decisions.addAll(apply(new Event.PodSeen(named("new", "web-0", NODE, true, "gpu-1"))));
    assertThat(decisions).noneMatch(Decision.Drifted.class::isInstance);
    assertThat(ledger.hold("new").orElseThrow().confirmed()).isFalse();
    assertThat(free("gpu-0")).isEqualTo(10);
    assertThat(free("gpu-1")).isEqualTo(7);
    nowMs += 5_000;
    report(NODE, Map.of("ns/web-0", Map.of("main", Map.of("gpu-1", 3))));
    assertThat(ledger.hold("new").orElseThrow().confirmed()).isTrue();
  }

  @Test
  void readBack_olderThanTheHold_isIgnored() {
    report(NODE, Map.of("ns/web-0", Map.of("main", Map.of("gpu-0", 3))));
    nowMs += 500;
    apply(new Event.PodSeen(named("new", "web-0", NODE, false, "gpu-1")));
    apply(new Event.PodSeen(named("new", "web-0", NODE, true, "gpu-1")));
    assertThat(ledger.hold("new").orElseThrow().held()).containsOnlyKeys("gpu-1");
    assertThat(ledger.hold("new").orElseThrow().confirmed()).isFalse();
  }

  @Test
  void readBack_ofAPodThatRanBeforeWeSawIt_counts() {
    report(NODE, Map.of("ns/web-0", Map.of("main", Map.of("gpu-0", 3))));
    nowMs += 500;
    apply(new Event.PodSeen(named("p", "web-0", NODE, true, null)));
    assertThat(ledger.hold("p").orElseThrow().confirmed()).isTrue();
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(free("gpu-1")).isEqualTo(10);
  }

  @Test
  void boundByOthers_withoutAPlace_countsOnEveryGpu() {
    report(NODE, Map.of());
    apply(new Event.PodSeen(pod("p", NODE)));
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(free("gpu-1")).isEqualTo(7);
    report(NODE, Map.of("ns/p", Map.of("main", Map.of("gpu-1", 3))));
    assertThat(free("gpu-0")).isEqualTo(10);
    assertThat(free("gpu-1")).isEqualTo(7);
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
    assertThat(seen("gpu-0").cordoned()).isFalse();
    assertThat(seen("gpu-1").cordoned()).isTrue();
    assertThat(apply(new Event.NodeSeen(new NodeFacts(NODE, java.util.Set.of(), "", true))))
        .containsExactly(new Decision.RoomGrew(NODE));
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
    apply(new Event.Reported(NODE, state(Map.of(), List.of(echo("p", "gpu-0")))));
    assertThat(free("gpu-0")).isEqualTo(7);
    apply(new Event.PodSeen(pod("p", NODE)));
    assertThat(ledger.hold("p").orElseThrow().held()).containsEntry("gpu-0", 3);
  }

  @Test
  void echo_ofAPodThatIsGone_isRetracted() {
    apply(new Event.PodGone("p", "ns/p"));
    assertThat(apply(new Event.Reported(NODE, state(Map.of(), List.of(echo("p", "gpu-0"))))))
        .contains(new Decision.Retract(NODE, "p"));
  }

  @Test
  void sameReport_changesNothing_untilItsPodHasEnded() {
    var state =
        state(Map.of("ns/p", Map.of("main", Map.of("gpu-0", 3))), List.of(echo("p", "gpu-0")));
    apply(new Event.PodSeen(pod("p", NODE)));
    apply(new Event.Reported(NODE, state));
    long version = ledger.version(NODE);
    assertThat(apply(new Event.Reported(NODE, state))).isEmpty();
    assertThat(ledger.version(NODE)).isEqualTo(version);
    apply(new Event.PodGone("p", "ns/p"));
    assertThat(apply(new Event.Reported(NODE, state))).contains(new Decision.Retract(NODE, "p"));
  }

  /** Its deletion was seen by nobody: we were not there, or the node was not for too long. */
  @Test
  void echo_ofAPodThatIsGone_andNoInformerShows_isRetractedAtOnce() {
    apply(new Event.Synced());
    assertThat(echoed("p", 4)).contains(new Decision.CheckPod(NODE, "p", "ns/p"));
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(checked("p", null))
        .contains(new Decision.Retract(NODE, "p"), new Decision.RoomGrew(NODE));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  @Test
  void echo_ofAPodThatNoInformerShows_isKeptWhileTheApiServerDoesNotAnswer() {
    apply(new Event.Synced());
    assertThat(echoed("p", 200))
        .contains(new Decision.CheckPod(NODE, "p", "ns/p"))
        .noneMatch(Decision.Retract.class::isInstance);
    assertThat(free("gpu-0")).isEqualTo(7);
    checked("p", pod("p", NODE, "gpu-0"));
    assertThat(ledger.hold("p").orElseThrow().stage()).isEqualTo(Hold.Stage.BOUND);
  }

  @Test
  void echo_beforeTheInformersAreSynced_isKept() {
    assertThat(echoed("p", 200))
        .noneMatch(d -> d instanceof Decision.Retract || d instanceof Decision.CheckPod);
    assertThat(free("gpu-0")).isEqualTo(7);
  }

  /** The leader that began to bind it has died, and kube-scheduler never asks about it again. */
  @Test
  void echo_ofAPodThatNobodyBinds_isRetractedOnceItsTimeIsUp() {
    apply(new Event.Synced());
    apply(new Event.PodSeen(pod("p", null)));
    assertThat(echoed("p", 50)).noneMatch(Decision.CheckPod.class::isInstance);
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(echoed("p", 15)).contains(new Decision.CheckPod(NODE, "p", "ns/p"));
    assertThat(checked("p", pod("p", null))).contains(new Decision.Retract(NODE, "p"));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  /** A node that lies must not fill our memory with pods that nobody has. */
  @Test
  void echoesOfUnknownPods_beyondWhatAKubeletAwaits_areNotHeld() {
    apply(new Event.Synced());
    for (int from = 0; from < 20_000; from += 1_000) {
      var echoes = new java.util.ArrayList<Assignment>();
      for (int i = from; i < from + 1_000; i++) {
        echoes.add(echo("p" + i, "gpu-0"));
      }
      apply(new Event.Reported(NODE, state(Map.of(), echoes)));
    }
    assertThat(ledger.holds(NODE)).hasSizeLessThanOrEqualTo(1_024);
  }

  private List<Decision> echoed(String uid, int seconds) {
    var decisions = new java.util.ArrayList<Decision>();
    for (int i = 0; i < seconds; i++) {
      decisions.addAll(
          apply(new Event.Reported(NODE, state(Map.of(), List.of(echo(uid, "gpu-0"))))));
      nowMs += 1_000;
      decisions.addAll(apply(new Event.Tick()));
    }
    return decisions;
  }

  /**
   * Seen in a burst: the replica that is not asked took the assignment from the node that had it.
   */
  @Test
  void echo_ofAnotherReplicasSecondTry_isNotRetracted() {
    apply(new Event.Reported("node-b", state(Map.of(), List.of(echo("p", "gpu-0")))));
    assertThat(apply(new Event.Reported(NODE, state(Map.of(), List.of(echo("p", "gpu-0"))))))
        .noneMatch(Decision.Retract.class::isInstance);
    apply(new Event.PodSeen(pod("p", NODE)));
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(ledger.holds("node-b")).isEmpty();
  }

  @Test
  void streamReturns_unconfirmedAssignmentsAreSentAgain() {
    report(NODE, Map.of());
    apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-0", 3)));
    apply(new Event.StreamLost(NODE));
    var decisions = report(NODE, Map.of());
    assertThat(decisions).anyMatch(Decision.Assign.class::isInstance);
    assertThat(decisions).contains(new Decision.RoomGrew(NODE));
  }

  /** A dead leader's bind is carried out after we have given up what it assigned. */
  @Test
  void boundWhereItsAssignmentWasRetracted_isAssignedAgain() {
    apply(new Event.Reported(NODE, state(Map.of(), List.of(echo("p", "gpu-0")))));
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
    apply(new Event.Reported(NODE, state(Map.of(), List.of(echo("p", "gpu-1")))));
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
    var pod =
        new PodFacts(
            "p", "ns", "p", NODE, false, false, Names.RESOURCE, List.of(request), annotations);
    assertThat(apply(new Event.PodSeen(pod))).noneMatch(this::assignsToNode);
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
    assertThat(apply(new Event.Reported("node-b", state(Map.of(), List.of(echo("p", "gpu-0"))))))
        .noneMatch(Decision.Retract.class::isInstance);
  }

  private void bindWithEcho(String uid) {
    report(NODE, Map.of());
    apply(new Event.BindStarted(pod(uid, null), NODE, on("gpu-0", 3)));
    apply(new Event.Reported(NODE, state(Map.of(), List.of(echo(uid, "gpu-0")))));
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

  private List<Decision> apply(Event event) {
    return ledger.apply(event, nowMs);
  }

  private List<Decision> report(
      String node, Map<String, Map<String, Map<String, Integer>>> holdings) {
    return apply(new Event.Reported(node, state(holdings, List.of())));
  }

  private int free(String uuid) {
    return seen(uuid).freeReplicas();
  }

  private int clients(String uuid) {
    return seen(uuid).heldClients();
  }

  private NodeView.Gpu seen(String uuid) {
    return ledger.view(NODE, h -> true, nowMs).gpus().stream()
        .filter(g -> g.facts().uuid().equals(uuid))
        .findFirst()
        .orElseThrow();
  }

  private static NodeState state(
      Map<String, Map<String, Map<String, Integer>>> holdings, List<Assignment> echoes) {
    return new NodeState(
        true, List.of(gpu("gpu-0", 0), gpu("gpu-1", 1)), holdings, true, Map.of(), echoes);
  }

  static GpuFacts gpu(String uuid, int index) {
    return new GpuFacts(uuid, index, "Tesla T4", Names.RESOURCE, 10, 10L << 30, true, "", 0, "", 0);
  }

  private static Assignment echo(String uid, String uuid) {
    return new Assignment(uid, "ns/" + uid, Names.RESOURCE, on(uuid, 3));
  }

  private static Placement on(String uuid, int replicas) {
    var share = new Placement.Share(uuid, replicas);
    return Placement.of(List.of(new Placement.Container("main", List.of(share))));
  }

  private static PodFacts pod(String uid, @org.jspecify.annotations.Nullable String node) {
    return facts(uid, node, false, Map.of(Names.GPU_FRACTION, "0.3", Names.REPLICAS_PER_GPU, "10"));
  }

  private static PodFacts pod(String uid, String node, String gpu) {
    return facts(uid, node, false, Map.of(Names.GPU, gpu, Names.REPLICAS_PER_GPU, "10"));
  }

  private static PodFacts named(
      String uid,
      String name,
      @org.jspecify.annotations.Nullable String node,
      boolean running,
      @org.jspecify.annotations.Nullable String gpu) {
    var request = new Demand.Request("main", Demand.Kind.APP, 3);
    var annotations = new java.util.HashMap<>(Map.of(Names.REPLICAS_PER_GPU, "10"));
    if (gpu != null) {
      annotations.put(Names.GPU, gpu);
    }
    return new PodFacts(
        uid, "ns", name, node, false, running, Names.RESOURCE, List.of(request), annotations);
  }

  private static PodFacts ended(String uid, String node) {
    return facts(uid, node, true, Map.of());
  }

  private static PodFacts facts(
      String uid,
      @org.jspecify.annotations.Nullable String node,
      boolean ended,
      Map<String, String> annotations) {
    var request = new Demand.Request("main", Demand.Kind.APP, 3);
    return new PodFacts(
        uid, "ns", uid, node, ended, false, Names.RESOURCE, List.of(request), annotations);
  }
}
