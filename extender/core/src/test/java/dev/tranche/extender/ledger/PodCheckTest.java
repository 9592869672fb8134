package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What is asked of the API server, where neither watch nor kubelet has shown a binding. */
final class PodCheckTest extends LedgerRig {
  private static final Decision CHECK = new Decision.CheckPod(NODE, "p", "ns/p");

  @Test
  void bind_unknownAndNeverSeen_isDroppedOnceTheApiServerSaysThatItWaits() {
    bound(new Event.BindUnknown("p"));
    assertThat(pass(Timing.DEFAULT.unknownBindMs())).containsExactly(CHECK);
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(checked("p", pod("p", null))).contains(new Decision.Retract(NODE, "p"));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  /** Watch and kubelet both lag: an overloaded API server delays both. */
  @Test
  void bind_acceptedAndShownByNobody_isKeptForAsLongAsTheApiServerHasIt() {
    bound(new Event.BindDone("p"));
    assertThat(ledger.hold("p").orElseThrow().stage()).isEqualTo(Hold.Stage.BOUND);
    assertThat(pass(Timing.DEFAULT.unknownBindMs())).containsExactly(CHECK);
    // No answer: it is kept, and asked about again.
    assertThat(pass(Timing.DEFAULT.unknownBindMs())).containsExactly(CHECK);
    assertThat(free("gpu-0")).isEqualTo(7);
    checked("p", pod("p", NODE, "gpu-0"));
    assertThat(pass(10 * Timing.DEFAULT.unknownBindMs())).containsExactly(CHECK);
    assertThat(free("gpu-0")).isEqualTo(7);
  }

  /** The watch that was stale lists again. It never had the pod, so it reports no deletion. */
  @Test
  void pod_thatOnlyAReadHasShown_isCheckedAgain_andDroppedOnceItIsGone() {
    apply(new Event.Synced());
    report(NODE, Map.of());
    echoed("p", 4);
    checked("p", pod("p", NODE, "gpu-0"));
    assertThat(pass(Timing.DEFAULT.unknownBindMs() - 1)).isEmpty();
    nowMs++;
    assertThat(apply(new Event.Tick())).containsExactly(CHECK);
    checked("p", null);
    assertThat(free("gpu-0")).isEqualTo(10);
    assertThat(ledger.pod("p")).isEmpty();
  }

  /** Its plugin has lost its files, and the kubelet may be quicker than this replica's watch. */
  @Test
  void assignmentOfAnotherReplica_thatTheNodeLost_isSentAgainOnceTheApiServerHasThePodBound() {
    apply(new Event.Synced());
    apply(new Event.PodSeen(pod("p", null)));
    echoed("p", 4);
    assertThat(report(NODE, Map.of())).containsExactly(CHECK);
    assertThat(checked("p", pod("p", NODE, "gpu-0")))
        .anyMatch(d -> d instanceof Decision.Assign a && a.assignment().uid().equals("p"));
  }

  /** Bind reads a pod that the watch has not shown, and finds it bound by another replica. */
  @Test
  void pod_thatBindHasRead_isCheckedAgain_andDroppedOnceItIsGone() {
    apply(new Event.Synced());
    report(NODE, Map.of());
    apply(Event.PodChecked.forBind(pod("p", NODE, "gpu-0")));
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(pass(Timing.DEFAULT.unknownBindMs())).containsExactly(CHECK);
    checked("p", null);
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  @Test
  void pod_thatTheWatchHasShown_isCheckedNoMore_andALateReadDoesNotMatter() {
    apply(new Event.Synced());
    report(NODE, Map.of());
    apply(Event.PodChecked.forBind(pod("read", NODE, "gpu-0")));
    apply(new Event.PodSeen(pod("read", NODE, "gpu-0")));
    apply(new Event.PodSeen(pod("seen", NODE, "gpu-1")));
    checked("seen", pod("seen", NODE, "gpu-1"));
    apply(new Event.BindStarted(pod("own", null), NODE, on("gpu-1", 3)));
    apply(new Event.BindDone("own"));
    apply(new Event.PodSeen(pod("own", NODE, "gpu-1")));
    assertThat(pass(10 * Timing.DEFAULT.unknownBindMs())).isEmpty();
    assertThat(ledger.holds(NODE)).extracting(Hold::uid).containsOnly("read", "seen", "own");
  }

  /** Once the pod is deleted, another one may have its name. */
  @Test
  void pod_thatAReadHasShownEnded_hidesNoLaterPodOfItsName() {
    bound(new Event.BindDone("p"));
    checked("p", ended("p", NODE));
    assertThat(free("gpu-0")).isEqualTo(10);
    var listed = Map.of("ns/p", Map.of("main", Map.of("gpu-0", 3)));
    report(NODE, listed);
    assertThat(free("gpu-0")).isEqualTo(10);
    pass(Timing.DEFAULT.unknownBindMs());
    report(NODE, listed);
    assertThat(free("gpu-0")).isEqualTo(7);
  }

  /** The object of an ended pod stays, and so does what an older kubelet lists of it. */
  @Test
  void pod_thatTheWatchHasShownEnded_staysEnded_whateverALateReadSays() {
    apply(new Event.Synced());
    apply(new Event.PodSeen(ended("p", NODE)));
    checked("p", ended("p", NODE));
    pass(2 * Timing.DEFAULT.unknownBindMs());
    report(NODE, Map.of("ns/p", Map.of("main", Map.of("gpu-0", 3))));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  /** Nothing would ever remove it if the watch never had it. */
  @Test
  void pod_thatAReadHasShownPending_isNotKept() {
    bound(new Event.BindUnknown("p"));
    pass(Timing.DEFAULT.unknownBindMs());
    checked("p", pod("p", null));
    assertThat(ledger.pod("p")).isEmpty();
  }

  /** Deleted before the informer has shown it with a node. */
  @Test
  void bind_doneOfAPodThatIsGone_isDroppedOnceTheApiServerSaysSo() {
    bound(new Event.BindDone("p"));
    pass(Timing.DEFAULT.unknownBindMs());
    assertThat(checked("p", null)).contains(new Decision.Retract(NODE, "p"));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  /**
   * The kubelet may list it for some seconds more, and a StatefulSet makes the next one at once.
   */
  @Test
  void bind_doneOfAPodThatIsGone_isNotTakenForTheNextOfItsName() {
    apply(new Event.Synced());
    report(NODE, Map.of());
    apply(new Event.BindStarted(named("old", "web-0", null, false, null), NODE, on("gpu-0", 3)));
    apply(new Event.BindDone("old"));
    var listed = Map.of("ns/web-0", Map.of("main", Map.of("gpu-0", 3)));
    report(NODE, listed);
    pass(Timing.DEFAULT.unknownBindMs());
    apply(new Event.PodChecked("old", "ns/web-0", null, nowMs));
    assertThat(free("gpu-0")).isEqualTo(10);
    report(NODE, listed);
    assertThat(free("gpu-0")).isEqualTo(10);
    nowMs += 1_000;
    apply(new Event.PodSeen(named("new", "web-0", NODE, false, "gpu-1")));
    report(NODE, listed);
    assertThat(ledger.hold("new").orElseThrow().held()).containsOnlyKeys("gpu-1");
  }

  /** The API server was asked before the pod was bound a second time. */
  @Test
  void check_thatIsOlderThanTheBinding_dropsNothing() {
    bound(new Event.BindUnknown("p"));
    pass(Timing.DEFAULT.unknownBindMs());
    var late = new Event.PodChecked("p", "ns/p", pod("p", null), nowMs);
    nowMs += 500;
    apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-1", 3)));
    apply(new Event.BindDone("p"));
    apply(late);
    assertThat(free("gpu-1")).isEqualTo(7);
  }

  /** A bind of pod p to a node that has reported nothing of it. */
  private void bound(Event outcome) {
    apply(new Event.Synced());
    report(NODE, Map.of());
    apply(new Event.BindStarted(pod("p", null), NODE, on("gpu-0", 3)));
    apply(outcome);
  }

  private List<Decision> checked(String uid, @Nullable PodFacts pod) {
    return apply(new Event.PodChecked(uid, "ns/" + uid, pod, nowMs));
  }

  /** Its deletion was seen by nobody: we were not there, or the node was not for too long. */
  @Test
  void echo_ofAPodThatIsGone_andNoInformerShows_isRetractedAtOnce() {
    apply(new Event.Synced());
    assertThat(echoed("p", 4)).contains(CHECK);
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(checked("p", null))
        .contains(new Decision.Retract(NODE, "p"), new Decision.CapacityGrew(NODE));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  @Test
  void echo_ofAPodThatNoInformerShows_isKeptWhileTheApiServerDoesNotAnswer() {
    apply(new Event.Synced());
    assertThat(echoed("p", 200)).contains(CHECK).noneMatch(Decision.Retract.class::isInstance);
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
    assertThat(echoed("p", 15)).contains(CHECK);
    assertThat(checked("p", pod("p", null))).contains(new Decision.Retract(NODE, "p"));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  /** A node that lies must not fill our memory with pods that nobody has. */
  @Test
  void echoesOfUnknownPods_beyondWhatAKubeletAwaits_areNotHeld() {
    apply(new Event.Synced());
    for (int from = 0; from < 20_000; from += 1_000) {
      var echoes = new ArrayList<Assignment>();
      for (int i = from; i < from + 1_000; i++) {
        echoes.add(echo("p" + i, "gpu-0"));
      }
      apply(reported(NODE, state(Map.of(), echoes)));
    }
    assertThat(ledger.holds(NODE)).hasSizeLessThanOrEqualTo(1_024);
  }

  @Test
  void echoesOfUnknownPods_onManyNodes_areBounded_andEachNodeHasSome() {
    apply(new Event.Synced());
    for (int node = 0; node < 100; node++) {
      var echoes = new ArrayList<Assignment>();
      for (int i = 0; i < 1_000; i++) {
        echoes.add(echo("n" + node + "-" + i, "gpu-0"));
      }
      apply(reported("n" + node, state(Map.of(), echoes)));
    }
    int held = ledger.nodes().stream().mapToInt(node -> ledger.holds(node).size()).sum();
    assertThat(held)
        .isLessThanOrEqualTo(LedgerState.ECHOED_IN_ALL_MAX + 100 * LedgerState.ECHOED_FAIR);
    assertThat(ledger.holds("n99")).hasSize(LedgerState.ECHOED_FAIR);
    // What ends leaves room.
    for (int i = 0; i < 1_000; i++) {
      apply(new Event.PodGone("n0-" + i, "ns/n0-" + i));
    }
    apply(reported(NODE, state(Map.of(), List.of(echo("a", "gpu-0"), echo("b", "gpu-0")))));
    assertThat(ledger.holds(NODE)).hasSize(2);
  }

  private List<Decision> echoed(String uid, int seconds) {
    var decisions = new ArrayList<Decision>();
    for (int i = 0; i < seconds; i++) {
      decisions.addAll(apply(reported(NODE, state(Map.of(), List.of(echo(uid, "gpu-0"))))));
      decisions.addAll(pass(1_000));
    }
    return decisions;
  }
}
