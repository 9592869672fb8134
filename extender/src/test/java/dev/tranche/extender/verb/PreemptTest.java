package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.ledger.NodeNeeds;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PodLabels;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import dev.tranche.extender.verb.Preempt.Answer;
import dev.tranche.extender.verb.Preempt.VictimUids;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class PreemptTest {
  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final Preempt preempt = world.preempt();
  private final FakeWorld.FilterNow filter = world.filter();

  @BeforeEach
  void budgets() {
    world.budgets.listed();
    world.report("a", new Gpu("a0", 0, 0), new Gpu("a1", 0, 0));
    world.report("b", new Gpu("b0", 0, 0), new Gpu("b1", 0, 0));
  }

  @Test
  void victims_areThoseOfOneGpu() {
    bound("x", 6, "a", "a0", 0);
    bound("y", 6, "a", "a1", 5);
    // 8 replicas are free on the node, but a GPU has 4.
    assertThat(victims(urgent(5), Map.of("a", offered("y"))))
        .containsExactly(Map.entry("a", new VictimUids(List.of("x"), 0)));
  }

  @Test
  void node_whereNothingFreesOneGpu_isDropped() {
    bound("x", 6, "a", "a0", 100);
    bound("y", 6, "a", "a1", 100);
    bound("z", 4, "a", "a0", 0);
    bound("w", 10, "b", "b0", 0);
    bound("v", 10, "b", "b1", 100);
    assertThat(victims(urgent(5), Map.of("a", offered("z"), "b", offered("w"))))
        .containsOnlyKeys("b");
  }

  @Test
  void podOfNoLowerPriority_isNoVictim() {
    fill(100, 100);
    assertThat(victims(urgent(5), Map.of("a", offered("x")))).isEmpty();
  }

  /** kube-scheduler would nominate the pod there and evict nobody. */
  @Test
  void nodeWithoutVictims_isDropped() {
    assertThat(victims(urgent(5), Map.of("b", offered()))).isEmpty();
  }

  @Test
  void podThatTerminatesForLong_isNoVictim() {
    bound("y", 10, "a", "a1", 100);
    var terminating = new PreemptionInfo(0, Map.of(), 1, true, null);
    world.see(FakeWorld.pod("x", 10, "tranche.dev/gpu=a0").with(terminating).on("a"));
    assertThat(victims(urgent(5), Map.of("a", offered("x")))).containsOnlyKeys("a");
    world.nowMs += 2 * Timing.DEFAULT.terminatingMs();
    assertThat(victims(urgent(5), Map.of("a", offered("x")))).isEmpty();
  }

  @Test
  void victims_thatHoldNoGpu_stayAsOffered() {
    fill(0, 100);
    assertThat(victims(urgent(5), Map.of("a", offered("x", "cpu-hog"))))
        .containsEntry("a", offered("x", "cpu-hog"));
    // A GPU is free as it is: the dry run evicts for something else.
    assertThat(victims(urgent(5), Map.of("b", offered("cpu-hog"))))
        .containsEntry("b", offered("cpu-hog"));
  }

  @Test
  void memory_ofVictims_goesWithThem() {
    world.report("a", new Gpu("a0", 0, 10 * FakeWorld.GIB));
    bound("x", 10, "a", "a0", 0);
    assertThat(victims(urgent(5), Map.of("a", offered("x")))).containsOnlyKeys("a");
    world.report("b", new Gpu("b0", 0, 10 * FakeWorld.GIB));
    bound("y", 2, "b", "b0", 0);
    // 8 GiB of it are nobody's that we know.
    assertThat(victims(urgent(5), Map.of("b", offered("y")))).isEmpty();
  }

  @Test
  void gpu_isHeldForTheNominatedPodUntilItFits() {
    evictX(100);
    // Those that come first do not take what was freed, unless they are worth more.
    assertThat(nodes(FakeWorld.pod("q", 6), "a")).isEmpty();
    assertThat(nodes(FakeWorld.pod("q", 5), "a")).containsExactly("a");
    world.state.apply(new Event.Release("q"));
    assertThat(nodes(FakeWorld.pod("r", 6).with(preemptionInfo(90, null)), "a"))
        .containsExactly("a");
    world.state.apply(new Event.Release("r"));
    assertThat(nodes(urgent(5), "a")).containsExactly("a");
  }

  /**
   * kube-scheduler may see later than we do that they are gone, and its next dry run has others.
   */
  @Test
  void victimsThatAreGone_areNotFollowedByOthers() {
    evictX(1);
    assertThat(victims(urgent(5), Map.of("a", offered("y")))).isEmpty();
    assertThat(victims(urgent(5), Map.of("a", offered("y", "cpu-hog"))))
        .containsExactly(Map.entry("a", offered("cpu-hog")));
    assertThat(heldOn()).isEqualTo("a");
  }

  /** kube-scheduler has not seen it yet. To delete them again would keep the pod from waking. */
  @Test
  void victimsThatAreGone_areNotNamedAgain_norPodsOfAnotherNode() {
    bound("z", 10, "b", "b0", 0);
    bound("w", 10, "b", "b1", 100);
    evictX(100);
    assertThat(victims(urgent(5), Map.of("a", offered("x")))).isEmpty();
    assertThat(victims(urgent(5), Map.of("a", offered("x"), "b", offered("z")))).isEmpty();
    assertThat(victims(urgent(5), Map.of("a", offered("x", "cpu-hog"), "b", offered("z"))))
        .containsExactly(Map.entry("a", offered("cpu-hog")));
    assertThat(heldOn()).isEqualTo("a");
  }

  /** Later it has seen it, and evicts for something that is not known here. */
  @Test
  void offer_isAnswered_onceKubeSchedulerHasSeenThatTheVictimsAreGone() {
    evictX(1);
    assertThat(victims(urgent(5), Map.of("a", offered("y")))).isEmpty();
    world.pass(10_001);
    assertThat(victims(urgent(5), Map.of("a", offered("y"))))
        .containsExactly(Map.entry("a", offered("y")));
  }

  @Test
  void offeredPod_withAHostPort_goes_andNoCheaperOneBesideIt() {
    bound("port", 2, "a", "a0", needs(1, 0, true));
    bound("innocent", 3, "a", "a0", needs(0, 0, false));
    bound("y", 10, "a", "a1", 100);
    bound("z", 5, "a", "a0", 100);
    PodFacts urgent = urgent(2).with(needs(50, 0, true));
    assertThat(victims(urgent, Map.of("a", offered("port"))))
        .containsExactly(Map.entry("a", offered("port")));
    // The same among equals.
    bound("port", 2, "a", "a0", needs(0, 0, true));
    assertThat(victims(urgent, Map.of("a", offered("port"))))
        .containsExactly(Map.entry("a", offered("port")));
  }

  /** It frees too little on its own. */
  @Test
  void offeredPod_withAHostPort_goesWithOthers() {
    bound("port", 1, "a", "a1", needs(1, 0, true));
    bound("x", 5, "a", "a0", 0);
    bound("y", 9, "a", "a1", 100);
    bound("z", 5, "a", "a0", 100);
    assertThat(victims(urgent(5).with(needs(50, 0, true)), Map.of("a", offered("port"))))
        .containsExactly(Map.entry("a", offered("port", "x")));
  }

  @Test
  void constrainedPreemptor_hasItsOfferAnswered() {
    bound("bystander", 5, "a", "a0", 0);
    bound("trainer", 5, "a", "a0", 1);
    bound("y", 10, "a", "a1", 100);
    assertThat(victims(urgent(5).with(needs(50, 0, true)), Map.of("a", offered("trainer"))))
        .containsExactly(Map.entry("a", offered("trainer")));
  }

  @Test
  void offeredPod_whoseCpuIsMissing_goes() {
    bound("bystander", 6, "a", "a0", needs(0, 1, false));
    bound("hog", 4, "a", "a0", needs(1, 1_200, false));
    bound("y", 10, "a", "a1", 100);
    assertThat(victims(urgent(4).with(needs(50, 1_200, false)), Map.of("a", offered("hog"))))
        .containsExactly(Map.entry("a", offered("hog")));
    PodFacts larger = FakeWorld.pod("larger", 5).with(needs(50, 1_200, false));
    assertThat(victims(larger, Map.of("a", offered("hog", "bystander"))))
        .containsExactly(Map.entry("a", offered("hog", "bystander")));
  }

  @Test
  void offeredPod_isExchanged_ifTheOtherFreesAsMuchCpu_orTheNodeHasIt() {
    bound("x", 10, "a", "a0", needs(0, 1_000, false));
    bound("y", 10, "a", "a1", needs(1, 1_000, false));
    assertThat(victims(urgent(5).with(needs(50, 2_000, false)), Map.of("a", offered("y"))))
        .containsExactly(Map.entry("a", offered("x")));
    var packed = new FakeWorld(Policy.PACKED);
    packed.budgets.listed();
    packed.report("a", new Gpu("a0", 0, 0), new Gpu("a1", 0, 0));
    packed.packing.hosts.node("a", new HostRequest(6_000, 1));
    bound(packed, FakeWorld.pod("x", 10, "tranche.dev/gpu=a0").with(needs(0, 1_000, false)));
    bound(packed, FakeWorld.pod("y", 10, "tranche.dev/gpu=a1").with(needs(1, 3_000, false)));
    PodFacts urgent = urgent(5).with(needs(50, 2_500, false));
    assertThat(packed.preempt().preempt(urgent, Map.of("a", offered("y"))).result())
        .isEqualTo(new Answer.Nodes(Map.of("a", offered("x"))));
  }

  /** On node a, with the CPU that it needs. */
  private static void bound(FakeWorld packed, PodFacts pod) {
    long cpuMilli = pod.preemption().needs().cpuMilli();
    packed.packing.podSeen(pod.uid(), "a", false, new HostRequest(cpuMilli, 0));
    packed.see(pod.on("a"));
  }

  /** "other" goes anyway. With it and "large" there is enough CPU, and enough of the GPU. */
  @Test
  void offeredPod_isSpared_ifAnOtherVictimWithoutAGpuFreesTheRest() {
    var packed = new FakeWorld(Policy.PACKED);
    packed.budgets.listed();
    packed.report("a", new Gpu("a0", 0, 0));
    packed.packing.hosts.node("a", new HostRequest(7_000, 1));
    packed.packing.podSeen("other", "a", false, new HostRequest(2_000, 0));
    bound(packed, FakeWorld.pod("small", 4, "tranche.dev/gpu=a0").with(needs(0, 3_000, false)));
    bound(packed, FakeWorld.pod("large", 5, "tranche.dev/gpu=a0").with(needs(0, 2_000, false)));
    PodFacts urgent = urgent(6).with(needs(50, 4_000, false));
    assertThat(packed.preempt().preempt(urgent, Map.of("a", offered("small", "other"))).result())
        .isEqualTo(new Answer.Nodes(Map.of("a", offered("large", "other"))));
  }

  /** As Kubernetes 1.38 offers them, where only single GPUs are too full. */
  @Test
  void nodesWithoutProposedVictims_doNotCrowdOutOthers_andComeAfterThem() {
    fill(0, 0);
    bound("z", 6, "b", "b0", 0);
    bound("w", 6, "b", "b1", 0);
    var offered = new LinkedHashMap<String, VictimUids>();
    for (int i = 0; i < 2 * Preempt.NODES_MAX; i++) {
      offered.put("empty" + i, offered());
    }
    offered.put("a", offered("x"));
    assertThat(victims(urgent(5), offered)).containsExactly(Map.entry("a", offered("x")));
    assertThat(
            victims(FakeWorld.pod("q", 5).with(preemptionInfo(50, null)), Map.of("b", offered())))
        .containsExactly(Map.entry("b", offered("z")));
  }

  @Test
  void hold_endsAfterItsTenMinutes_whateverEventsCome() {
    fill(0, 100);
    victims(urgent(5), Map.of("a", offered("x")));
    PodFacts nominated = urgent(5).with(preemptionInfo(50, "a"));
    long stepMs = Timing.DEFAULT.tentativeMs() / 3;
    for (long passedMs = 0; passedMs < Timing.DEFAULT.nominatedMs(); passedMs += stepMs) {
      assertThat(heldOn()).as("after %d ms", passedMs).isEqualTo("a");
      world.see(nominated);
      filter.filter(nominated, List.of("a"), false);
      victims(nominated, Map.of("a", offered("x")));
      world.pass(stepMs);
    }
    assertThat(heldOn()).isEmpty();
    world.see(nominated);
    assertThat(heldOn()).isEmpty();
    assertThat(world.ledger.nominatedPods()).isEmpty();
  }

  /** An error that filter answers clears the nomination. */
  @Test
  void whileTheFirstVictimsEnd_noPodOfAnotherNodeIsEvicted() {
    bound("z", 10, "b", "b0", 0);
    bound("w", 10, "b", "b1", 100);
    nominate(1);
    long graceMs = 3 * Timing.DEFAULT.terminatingMs();
    terminates("x", world.nowMs + graceMs);
    world.see(urgent(5));
    for (long passedMs = 0; passedMs < graceMs; passedMs += 20_000) {
      assertThat(victims(urgent(5), Map.of("b", offered("z")))).isEmpty();
      assertThat(victims(urgent(5), Map.of("a", offered("y"), "b", offered("z"))))
          .containsExactly(Map.entry("a", offered("x")));
      world.pass(20_000);
      assertThat(heldOn()).isEqualTo("a");
    }
    world.pass(Timing.DEFAULT.terminatingMs());
    assertThat(victims(urgent(5), Map.of("b", offered("z")))).containsOnlyKeys("b");
  }

  /** Nobody asks for the pod meanwhile: kube-scheduler waits until the victims are gone. */
  @Test
  void hold_lastsWhileItsVictimsEnd() {
    nominate(100);
    terminates("x", world.nowMs + 2 * Timing.DEFAULT.terminatingMs());
    world.see(urgent(5));
    for (int i = 0; i < 4; i++) {
      world.pass(Timing.DEFAULT.tentativeMs());
      assertThat(heldOn()).isEqualTo("a");
    }
    world.state.apply(new Event.PodGone("x", "ns/x"));
    world.pass(Timing.DEFAULT.tentativeMs());
    assertThat(heldOn()).isEmpty();
  }

  @Test
  void podOfALongGracePeriod_isAVictim_untilItShouldHaveEnded() {
    fill(0, 0);
    long graceMs = 4 * Timing.DEFAULT.terminatingMs();
    terminates("x", world.nowMs + graceMs);
    world.nowMs += graceMs;
    assertThat(victims(urgent(5), Map.of("a", offered("y"))))
        .containsExactly(Map.entry("a", offered("x")));
    var other = FakeWorld.pod("other", 5).with(preemptionInfo(50, null));
    world.nowMs += Timing.DEFAULT.terminatingMs();
    assertThat(victims(other, Map.of("a", offered("y"))))
        .containsExactly(Map.entry("a", offered("y")));
  }

  /** It may have seen that neither of them goes yet, and offers whom it likes among equals. */
  @Test
  void victimsThatStillRun_areNamedAgain_whateverTheNextDryRunOffers() {
    fill(0, 0);
    assertThat(victims(urgent(5), Map.of("a", offered("y"))))
        .containsExactly(Map.entry("a", offered("y")));
    assertThat(victims(urgent(5), Map.of("a", offered("x"))))
        .containsExactly(Map.entry("a", offered("y")));
    world.see(urgent(5).with(preemptionInfo(50, "a")));
    assertThat(victims(urgent(5), Map.of("a", offered("x"))))
        .containsExactly(Map.entry("a", offered("y")));
  }

  @Test
  void hold_movesToTheNodeThatIsNominated_andEndsWithAnother() {
    fill(0, 0);
    bound("z", 10, "b", "b0", 1);
    bound("w", 10, "b", "b1", 1);
    victims(urgent(5), Map.of("a", offered("x"), "b", offered("z")));
    assertThat(heldOn()).isEqualTo("a");
    world.see(urgent(5));
    assertThat(heldOn()).isEqualTo("a");
    world.see(urgent(5).with(preemptionInfo(50, "b")));
    assertThat(heldOn()).isEqualTo("b");
    world.see(urgent(5).with(preemptionInfo(50, "elsewhere")));
    assertThat(heldOn()).isEmpty();
    assertThat(world.ledger.nominatedPods()).isEmpty();
  }

  /** kube-scheduler clears the nomination whenever filter answers an Error. */
  @Test
  void hold_outlivesAClearedNomination_whileItsPodIsFiltered_butNotForEver() {
    nominate(100);
    world.see(urgent(5));
    for (int i = 0; i < 3; i++) {
      world.nowMs += Timing.DEFAULT.tentativeMs() - 1;
      filter.filter(urgent(5), List.of("a"), false);
      world.tick();
      assertThat(heldOn()).isEqualTo("a");
    }
    world.pass(Timing.DEFAULT.tentativeMs());
    assertThat(heldOn()).isEmpty();
    assertThat(world.ledger.nominatedPods()).isEmpty();
  }

  @Test
  void hold_ofAClearedNomination_endsAtLast_howeverOftenItsPodIsFiltered() {
    nominate(100);
    world.see(urgent(5));
    long stepMs = Timing.DEFAULT.tentativeMs() / 2;
    for (long passedMs = 0; passedMs < Timing.DEFAULT.nominatedMs(); passedMs += stepMs) {
      assertThat(heldOn()).isEqualTo("a");
      filter.filter(urgent(5), List.of("a"), false);
      world.pass(stepMs);
    }
    assertThat(heldOn()).isEmpty();
  }

  @Test
  void hold_thatIsNeverNominated_expires() {
    fill(0, 100);
    victims(urgent(5), Map.of("a", offered("x")));
    world.pass(Timing.DEFAULT.tentativeMs());
    assertThat(heldOn()).isEmpty();
  }

  @Test
  void hold_outlivesAnotherFilter() {
    fill(0, 100);
    victims(urgent(5), Map.of("a", offered("x")));
    filter.filter(urgent(5), List.of("a"), false);
    assertThat(heldOn()).isEqualTo("a");
  }

  @Test
  void roomOfAPodThatTerminates_isTransient_butNotForEver() {
    fill(0, 0);
    PodFacts x = world.ledger.pod("x").orElseThrow();
    world.see(x.with(new PreemptionInfo(0, Map.of(), 1, true, null)));
    assertThat(filter.filter(FakeWorld.pod("q", 5), List.of("a"), false))
        .isInstanceOf(Filter.Answer.Undecided.class);
    world.nowMs += Timing.DEFAULT.terminatingMs();
    assertThat(filter.filter(FakeWorld.pod("q", 5), List.of("a"), false))
        .isInstanceOf(Filter.Answer.Nodes.class);
  }

  @Test
  void notReady_isSaid() {
    var cold = new FakeWorld(Policy.LOAD);
    assertThat(cold.preempt().preempt(urgent(5), Map.of()).result())
        .isEqualTo(
            new Answer.Undecided(
                "the extender has not read the cluster's PodDisruptionBudgets yet"));
    cold.readiness.closeWhile(() -> Optional.of("another leads"), () -> 0);
    assertThat(cold.preempt().preempt(urgent(5), Map.of()).result())
        .isEqualTo(new Answer.Undecided("another leads"));
  }

  /** kube-scheduler would retry the pod after an error only when some pod ends. */
  @Test
  void whatIsReadSoon_isWaitedFor() {
    var cold = FakeWorld.unsynced(new SimpleMeterRegistry());
    cold.state.apply(new Event.NodeSeen(new NodeFacts("a", Set.of(), "", true)));
    cold.see(FakeWorld.pod("x", 10, "tranche.dev/gpu=a0").with(preemptionInfo(0, null)).on("a"));
    long startMs = cold.nowMs;
    cold.meanwhile =
        () -> {
          if (cold.nowMs == startMs + 500) {
            cold.synced();
          } else if (cold.nowMs == startMs + 1_000) {
            cold.report("a", new Gpu("a0", 0, 0));
          } else if (cold.nowMs == startMs + 4_000) {
            cold.budgets.listed();
          }
        };
    var answer = cold.preempt().preempt(urgent(5), Map.of("a", offered("x"))).result();
    assertThat(answer).isEqualTo(new Answer.Nodes(Map.of("a", offered("x"))));
    assertThat(cold.nowMs).isEqualTo(startMs + 4_000);
  }

  @Test
  void whatStaysUnknown_isWaitedForInVain_butNoLeadershipOfAnother() {
    var cold = new FakeWorld(Policy.LOAD);
    long startMs = cold.nowMs;
    assertThat(cold.preempt().preempt(urgent(5), Map.of()).result())
        .isInstanceOf(Answer.Undecided.class);
    assertThat(cold.nowMs).isEqualTo(startMs + Preempt.KNOWN_WITHIN_MS);
    cold.readiness.closeWhile(() -> Optional.of("another leads"), () -> 0);
    assertThat(cold.preempt().preempt(urgent(5), Map.of()).result())
        .isEqualTo(new Answer.Undecided("another leads"));
    assertThat(cold.nowMs).isEqualTo(startMs + Preempt.KNOWN_WITHIN_MS);
  }

  /** kube-scheduler decides about no other pod while it waits for an answer. */
  @Test
  void whatStaysUnknownForLong_holdsUpNoFurtherCalls() {
    var cold = new FakeWorld(Policy.LOAD);
    var preempt = cold.preempt();
    long startMs = cold.nowMs;
    for (int i = 0; i < 100; i++) {
      assertThat(preempt.preempt(urgent(5), Map.of()).result())
          .isInstanceOf(Answer.Undecided.class);
    }
    assertThat(cold.nowMs - startMs).isEqualTo(Preempt.UNKNOWN_MAX_MS + Preempt.KNOWN_WITHIN_MS);
  }

  private String heldOn() {
    return world.ledger.hold("urgent").map(h -> h.node()).orElse("");
  }

  private List<String> nodes(PodFacts pod, String node) {
    return filter.filter(pod, List.of(node), false)
            instanceof Filter.Answer.Nodes(var nodes, var refused)
        ? nodes
        : List.of();
  }

  private Map<String, VictimUids> victims(PodFacts pod, Map<String, VictimUids> offered) {
    return ((Answer.Nodes) preempt.preempt(pod, offered).result()).victims();
  }

  private static VictimUids offered(String... uids) {
    return new VictimUids(List.of(uids), 0);
  }

  /** The urgent pod to node a, where x is its victim. */
  private void nominate(int priorityOfY) {
    fill(0, priorityOfY);
    victims(urgent(5), Map.of("a", offered("x")));
    world.see(urgent(5).with(preemptionInfo(50, "a")));
  }

  private void evictX(int priorityOfY) {
    nominate(priorityOfY);
    world.state.apply(new Event.PodGone("x", "ns/x"));
  }

  /** Each GPU of node a has a pod of all its replicas: x on a0, y on a1. */
  private void fill(int priorityOfX, int priorityOfY) {
    bound("x", 10, "a", "a0", priorityOfX);
    bound("y", 10, "a", "a1", priorityOfY);
  }

  private static PodFacts urgent(int replicas) {
    return FakeWorld.pod("urgent", replicas).with(preemptionInfo(50, null));
  }

  private static PreemptionInfo preemptionInfo(int priority, @Nullable String nominated) {
    return new PreemptionInfo(priority, Map.of(), 1, false, nominated);
  }

  private static PreemptionInfo needs(int priority, long cpuMilli, boolean constrained) {
    var needs = new NodeNeeds(cpuMilli, 0, 0, constrained);
    return new PreemptionInfo(priority, PodLabels.NONE, 1, true, false, null, 0, needs);
  }

  private void bound(String name, int replicas, String node, String gpu, int priority) {
    bound(name, replicas, node, gpu, preemptionInfo(priority, null));
  }

  private void bound(
      String name, int replicas, String node, String gpu, PreemptionInfo preemption) {
    world.see(FakeWorld.pod(name, replicas, "tranche.dev/gpu=" + gpu).with(preemption).on(node));
  }

  private void terminates(String uid, long graceUntilMs) {
    PodFacts pod = world.ledger.pod(uid).orElseThrow();
    world.see(
        pod.with(
            new PreemptionInfo(
                pod.preemption().priority(),
                PodLabels.NONE,
                1,
                true,
                true,
                null,
                graceUntilMs,
                NodeNeeds.NONE)));
  }
}
