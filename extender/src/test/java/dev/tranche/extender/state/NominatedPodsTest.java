package dev.tranche.extender.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Preempt;
import dev.tranche.extender.verb.Preempt.VictimUids;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Two replicas: the first chooses victims and dies, the second has seen what the API server shows
 * and is asked from then on. Two pods of 5 fill each of the node's two GPUs.
 */
final class NominatedPodsTest {
  private static final int LOW = 0;
  private static final int HIGH = 50;
  private FakeWorld first = replica();
  private FakeWorld second = replica();

  @BeforeEach
  void fill() {
    for (String gpu : List.of("a0", "a1")) {
      bound("x-" + gpu, gpu, LOW);
      bound("y-" + gpu, gpu, LOW);
    }
  }

  private static FakeWorld replica() {
    var world = new FakeWorld(Policy.LOAD);
    world.budgets.listed();
    world.report("a", new Gpu("a0", 0, 0), new Gpu("a1", 0, 0));
    return world;
  }

  @Test
  void victimsStillEnd_theirGpuIsHeld() {
    nominated();
    victims().forEach(this::terminates);
    first = second;
    assertThat(offered("q", 5, LOW)).isFalse();
    victims().forEach(this::gone);
    assertThat(offered("q", 5, LOW)).isFalse();
    assertThat(offered("urgent", 10, HIGH)).isTrue();
  }

  @Test
  void victimsHaveEnded_beforeAnybodyAsks() {
    evicted();
    assertThat(offered("q", 1, LOW)).isFalse();
    assertThat(offered("r", 10, HIGH + 1)).isTrue();
  }

  /** kube-scheduler nominates before it evicts, one after the other. */
  @Test
  void inWhateverOrderVictimsGo_nobodyOfLowerPriorityTakesTheirRoom() {
    var uids = List.of("x-a1", "y-a1");
    List<Runnable> goes = new ArrayList<>();
    uids.forEach(uid -> goes.add(() -> terminates(uid)));
    uids.forEach(uid -> goes.add(() -> gone(uid)));
    for (int asked = 1; asked < 1 << goes.size(); asked++) {
      first = replica();
      second = replica();
      fill();
      nominate("a");
      first = second;
      for (int i = 0; i < goes.size(); i++) {
        goes.get(i).run();
        if ((asked >> i & 1) == 1) {
          assertThat(offered("q", 1, LOW)).as("asked %s, after %d", asked, i).isFalse();
        }
      }
      assertThat(offered("urgent", 10, HIGH)).as("asked %s", asked).isTrue();
    }
  }

  @Test
  void podsOfEqualPriority_doNotTakeTheRoom_andThoseOfHigherDo() {
    evicted();
    assertThat(offered("q", 5, HIGH)).isFalse();
    assertThat(offered("r", 5, HIGH + 1)).isTrue();
  }

  @Test
  void nomination_thatIsClearedOrBound_isForgotten() {
    nominate("a");
    assertThat(second.nominees.size()).isOne();
    nominate(null);
    assertThat(second.nominees.size()).isZero();
    nominate("a");
    apply(new Event.PodSeen(urgent("a").on("a")));
    assertThat(second.nominees.size()).isZero();
  }

  @Test
  void plan_isMadeOnce_andNotForEver() {
    evicted();
    assertThat(offered("q", 1, LOW)).isFalse();
    second.pass(Timing.DEFAULT.nominatedMs() + 1);
    assertThat(offered("q", 1, LOW)).isTrue();
  }

  @Test
  void nomination_ofLongAgo_isNotPlannedForAnyMore() {
    evicted();
    second.pass(Timing.DEFAULT.nominatedMs() + 1);
    assertThat(offered("q", 1, LOW)).isTrue();
  }

  @Test
  void nomineeThatIsScheduledElsewhere_isLeftAlone() {
    nominated();
    victims().forEach(this::terminates);
    second.report("b", new Gpu("b0", 0, 0));
    first = second;
    assertThat(second.filter().filter(urgent("a"), List.of("a", "b"), false))
        .isEqualTo(
            new Filter.Answer.Nodes(
                List.of("b"), Map.of(dev.tranche.extender.placement.Reason.FULL, List.of("a"))));
    offered("q", 1, LOW);
    assertThat(second.ledger.hold("urgent")).get().extracting("node").isEqualTo("b");
  }

  @Test
  void nomineeWhoseWayElsewhereComesToNothing_hasItsRoomHeldAgain() {
    nominated();
    second.report("b", new Gpu("b0", 0, 0));
    first = second;
    second.filter().filter(urgent("a"), List.of("a", "b"), false);
    assertThat(second.ledger.hold("urgent")).get().extracting("node").isEqualTo("b");
    // Asked while it is expected on b.
    offered("q", 5, LOW);
    second.pass(Timing.DEFAULT.tentativeMs() + 1);
    victims().forEach(this::terminates);
    victims().forEach(this::gone);
    assertThat(offered("q", 5, LOW)).isFalse();
  }

  /**
   * From Kubernetes 1.35 on, kube-scheduler also nominates the node of a pod that it is about to
   * bind, while its volume is made. Nobody is evicted for it.
   */
  @Test
  void podWhoseVolumeIsSlow_keepsItsGpu_untilItIsBound() {
    aboutToBeBound();
    assertThat(second.ledger.nominatedPods()).isEmpty();
    second.pass(Timing.DEFAULT.tentativeMs() + 1);
    assertThat(offeredB("q")).as("its tentative hold is over, but not its nomination").isFalse();
    second.pass(5 * 60_000);
    assertThat(offeredB("q")).isFalse();
    apply(new Event.PodSeen(slow(null).on("b")));
    assertThat(second.ledger.nominatedPods()).isEmpty();
    assertThat(second.ledger.hold("slow")).isPresent();
  }

  @Test
  void podWhoseVolumeFails_holdsNoGpuForTenMinutes() {
    aboutToBeBound();
    second.pass(Timing.DEFAULT.tentativeMs() + 1);
    assertThat(offeredB("q")).isFalse();
    // kube-scheduler clears the nomination when a binding fails.
    apply(new Event.PodSeen(slow(null)));
    second.pass(Timing.DEFAULT.tentativeMs() + 1);
    assertThat(second.ledger.nominatedPods()).isEmpty();
    assertThat(offeredB("q")).isTrue();
  }

  @Test
  void podWhoseVolumeIsSlow_holdsNothing_onceItIsDeleted() {
    aboutToBeBound();
    second.pass(Timing.DEFAULT.tentativeMs() + 1);
    assertThat(offeredB("q")).isFalse();
    gone("slow");
    assertThat(offeredB("q")).isTrue();
  }

  @Test
  void podThatStaysNominated_withoutVictims_holdsItsGpuForTenMinutesAtMost() {
    aboutToBeBound();
    second.pass(Timing.DEFAULT.tentativeMs() + 1);
    assertThat(offeredB("q")).isFalse();
    second.pass(Timing.DEFAULT.nominatedMs());
    assertThat(offeredB("q")).isTrue();
  }

  private void aboutToBeBound() {
    second.report("b", new Gpu("b0", 0, 0));
    first = second;
    apply(new Event.PodSeen(slow(null)));
    assertThat(second.filter().filter(slow(null), List.of("b"), false))
        .isInstanceOf(Filter.Answer.Nodes.class);
    assertThat(second.ledger.hold("slow")).get().extracting("node").isEqualTo("b");
    apply(new Event.PodSeen(slow("b")));
  }

  private static PodFacts slow(@Nullable String nominatedNode) {
    return FakeWorld.pod("slow", 10)
        .with(new PreemptionInfo(LOW, Map.of(), 1, false, nominatedNode));
  }

  private boolean offeredB(String name) {
    second.report("b", new Gpu("b0", 0, 0));
    PodFacts pod = FakeWorld.pod(name, 10).with(new PreemptionInfo(LOW, Map.of(), 1, false, null));
    boolean offered =
        second.filter().filter(pod, List.of("b"), false)
                instanceof Filter.Answer.Nodes(var nodes, var refused)
            && !nodes.isEmpty();
    second.state.apply(new Event.Release(name));
    return offered;
  }

  /** Each look at the clock costs 20 ms: one filter has time for a few of them only. */
  @Test
  void manyNominees_takeTurns_overSeveralFilters() {
    int nominees = 20;
    for (int i = 0; i < nominees; i++) {
      String node = "n" + i;
      second.report(node, new Gpu(node + "-0", 0, 0));
      PodFacts pod = FakeWorld.pod("u" + i, 10);
      apply(new Event.PodSeen(pod.with(new PreemptionInfo(HIGH, Map.of(), 1, false, node))));
    }
    first = second;
    second.stepMs = 20;
    int before = 0;
    for (int asked = 0; asked < nominees; asked++) {
      second.filter().filter(FakeWorld.pod("q", 1), List.of("n0"), false);
      int held = second.ledger.nominatedPods().size();
      assertThat(held - before).isLessThan(4);
      before = held;
    }
    assertThat(before).isEqualTo(nominees);
  }

  @Test
  void nomineeWhoseNodeChanges_letsTheOthersHaveTheirTurn() {
    nominate("a");
    second.report("b", new Gpu("b0", 0, 0));
    PodFacts later = FakeWorld.pod("later", 10);
    apply(new Event.PodSeen(later.with(new PreemptionInfo(LOW, Map.of(), 1, false, "b"))));
    second.stepMs = 20;
    for (int asked = 0; asked < 5; asked++) {
      second.report("a", new Gpu("a0", asked, 0), new Gpu("a1", asked, 0));
      second.filter().filter(FakeWorld.pod("q", 1), List.of("a"), false);
    }
    assertThat(second.ledger.nominated("later")).isTrue();
  }

  @Test
  void nominees_areBounded() {
    for (int i = 0; i <= NominatedPods.PODS_MAX; i++) {
      PodFacts pod = FakeWorld.pod("u" + i, 10);
      apply(new Event.PodSeen(pod.with(new PreemptionInfo(HIGH, Map.of(), 1, false, "a"))));
    }
    assertThat(second.nominees.size()).isEqualTo(NominatedPods.PODS_MAX);
  }

  // --- what the API server shows, and what the one replica is asked that still lives ---

  private void nominated() {
    var answer = first.preempt().preempt(urgent(null), Map.of("a", victimsOffered())).result();
    assertThat(((Preempt.Answer.Nodes) answer).victims().get("a"))
        .extracting(VictimUids::uids)
        .isEqualTo(victims());
    nominate("a");
  }

  /** All victims are gone, and so is the replica that chose them. */
  private void evicted() {
    nominated();
    victims().forEach(this::terminates);
    victims().forEach(this::gone);
    first = second;
  }

  /** The GPU whose pods have run for a shorter time. */
  private static List<String> victims() {
    return List.of("x-a1", "y-a1");
  }

  private static VictimUids victimsOffered() {
    return new VictimUids(List.of("x-a0", "y-a1"), 0);
  }

  private static PodFacts urgent(@Nullable String node) {
    return FakeWorld.pod("urgent", 10).with(new PreemptionInfo(HIGH, Map.of(), 1, false, node));
  }

  private void nominate(@Nullable String node) {
    apply(new Event.PodSeen(urgent(node)));
  }

  private void bound(String name, String gpu, int priority) {
    long startedAtMs = gpu.equals("a0") ? 1 : 2;
    apply(
        new Event.PodSeen(
            FakeWorld.pod(name, 5, "tranche.dev/gpu=" + gpu)
                .with(new PreemptionInfo(priority, Map.of(), startedAtMs, false, null))
                .on("a")));
  }

  private void terminates(String uid) {
    PodFacts pod = second.ledger.pod(uid).orElseThrow();
    apply(new Event.PodSeen(pod.with(new PreemptionInfo(LOW, Map.of(), 1, true, null))));
  }

  private void gone(String uid) {
    apply(new Event.PodGone(uid, "ns/" + uid));
  }

  private void apply(Event event) {
    second.state.apply(event);
    if (first != second) {
      first.state.apply(event);
    }
  }

  /** Whether it is offered the node, and would have a GPU there; it is not bound. */
  private boolean offered(String name, int replicas, int priority) {
    PodFacts pod =
        FakeWorld.pod(name, replicas).with(new PreemptionInfo(priority, Map.of(), 1, false, null));
    boolean offered =
        first.filter().filter(pod, List.of("a"), false)
                instanceof Filter.Answer.Nodes(var nodes, var refused)
            && !nodes.isEmpty();
    if (offered) {
      first.state.apply(new Event.Release(name));
    }
    return offered;
  }
}
