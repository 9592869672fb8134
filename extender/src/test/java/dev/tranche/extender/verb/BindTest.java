package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.TestFacts;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.state.ApiServer;
import dev.tranche.extender.state.ReadinessGate;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class BindTest {
  @AutoClose private final Vertx vertx = Vertx.vertx();
  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final Bind bind = world.bind(new Loop(vertx.getOrCreateContext()));

  @BeforeEach
  void report() {
    world.report("a", new Gpu("a0", 0, 0));
  }

  @Test
  void uidOfAnotherPod_isRefused() {
    world.see(FakeWorld.pod("p", 3));
    assertThat(bind("ns/q", "p")).get().asString().contains("is ns/p");
    assertThat(world.assigned).isEmpty();
  }

  @Test
  void podThatTheInformerHasNotShownYet_isBoundAsTheApiServerHasIt() {
    world.onServer.put("ns/p", FakeWorld.pod("p", 3));
    assertThat(bind("ns/p", "p")).isEmpty();
    assertThat(world.assigned.getFirst().placement().held().values()).containsExactly(3);
  }

  /** So that kubectl describe pod says what the pod got. */
  @Test
  void binding_saysWhichGpu_howMuchOfIt_andWhichModel() {
    world.see(FakeWorld.pod("p", 3));
    assertThat(bind("ns/p", "p")).isEmpty();
    assertThat(world.bindAnnotations)
        .containsExactlyInAnyOrderEntriesOf(
            Map.of(
                "tranche.dev/gpu", "a0",
                "tranche.dev/granted-replicas", "3/10",
                "tranche.dev/granted-memory", "3.0Gi",
                "tranche.dev/gpu-model-granted", "Tesla T4"));
  }

  @Test
  void podThatTheApiServerHasNot_isNotBound() {
    assertThat(bind("ns/p", "p").orElseThrow()).contains("no pod ns/p of uid p");
    world.onServer.put("ns/p", FakeWorld.pod("q", 3));
    assertThat(bind("ns/p", "p")).isPresent();
    world.onServer.put("ns/r", FakeWorld.pod("r", 3).on("b"));
    assertThat(bind("ns/r", "r").orElseThrow()).contains("is bound to node b");
    assertThat(world.ledger.hold("r").orElseThrow().expiresAtMs()).isLessThan(Long.MAX_VALUE);
    assertThat(world.assigned).isEmpty();
  }

  /** A kube-scheduler that lags behind binds a pod that is deleted. */
  @Test
  void podThatTheApiServerHasNot_holdsNothing() {
    world.filter(0).filter(FakeWorld.pod("p", 3), List.of("a"), false);
    assertThat(world.ledger.hold("p")).isPresent();
    assertThat(bind("ns/p", "p").orElseThrow()).contains("no pod ns/p of uid p");
    assertThat(world.ledger.hold("p")).isEmpty();
  }

  @Test
  void memoryThatHasGoneSinceThePodWasFiltered_movesItToAnotherGpuOrRefusesIt() {
    world.report("a", new Gpu("a0", 0, 0), new Gpu("a1", 0.5, 0));
    var pod = FakeWorld.pod("p", 3);
    world.see(pod);
    var filter = world.filter(0);
    filter.filter(pod, List.of("a"), false);
    assertThat(world.ledger.hold("p").orElseThrow().held()).containsOnlyKeys("a0");
    long most = 8 * FakeWorld.GIB;
    world.report("a", new Gpu("a0", 0, most), new Gpu("a1", 0.5, most));
    assertThat(bind("ns/p", "p").orElseThrow()).contains("no longer fits pod ns/p");
    assertThat(world.assigned).isEmpty();
    world.report("a", new Gpu("a0", 0, most), new Gpu("a1", 0.5, 0));
    assertThat(bind("ns/p", "p")).isEmpty();
    assertThat(world.assigned.getFirst().placement().held()).containsOnlyKeys("a1");
  }

  /** Only some GPUs of the node are cut anew, between prioritize and bind. */
  @Test
  void heldGpuThatIsCutAnewBeforeTheBind_isNotAssigned() {
    reportReplicas(10, 10);
    var pod = FakeWorld.pod("p", 3);
    world.see(pod);
    world.filter(0).filter(pod, List.of("a"), false);
    String held = world.ledger.hold("p").orElseThrow().held().keySet().iterator().next();
    String other = held.equals("a0") ? "a1" : "a0";
    reportReplicas(held.equals("a0") ? 48 : 10, held.equals("a0") ? 10 : 48);
    assertThat(bind("ns/p", "p")).isEmpty();
    assertThat(world.assigned.getFirst().placement().held()).containsOnlyKeys(other);
  }

  /** Others were bound by another scheduler, between prioritize and bind. */
  @Test
  void heldGpuWhoseClientSlotsAreTakenBeforeTheBind_isNotAssigned() {
    reportGpus(2, 10, 10);
    var pod = FakeWorld.pod("p", 3);
    world.see(pod);
    world.filter(0).filter(pod, List.of("a"), false);
    String held = world.ledger.hold("p").orElseThrow().held().keySet().iterator().next();
    for (String other : List.of("q", "r")) {
      var bound = FakeWorld.pod(other, 1, "tranche.dev/gpu=" + held).on("a");
      world.see(bound);
    }
    assertThat(bind("ns/p", "p")).isEmpty();
    assertThat(world.assigned)
        .filteredOn(assignment -> assignment.uid().equals("p"))
        .singleElement()
        .satisfies(
            assignment ->
                assertThat(assignment.placement().held())
                    .containsOnlyKeys(held.equals("a0") ? "a1" : "a0"));
  }

  private void reportReplicas(int... replicas) {
    reportGpus(0, replicas);
  }

  private void reportGpus(int clientsMax, int... replicas) {
    var gpus = new ArrayList<GpuFacts>();
    for (int i = 0; i < replicas.length; i++) {
      gpus.add(TestFacts.mpsGpu("a" + i, i, replicas[i], 1L << 34, clientsMax));
    }
    var state = new NodeState(true, gpus, Map.of(), true, Map.of(), List.of());
    world.state.reported(new Event.Reported("a", state, OptionalLong.of(0)), Map.of());
  }

  @Test
  void memoryOfThePodItself_doesNotMoveItWhenItsFirstBindIsUnknown() {
    world.report("a", new Gpu("a0", 0, 0), new Gpu("a1", 0.5, 0));
    world.see(FakeWorld.pod("p", 3));
    world.outcome = new ApiServer.BindOutcome.Unknown("no answer");
    assertThat(bind("ns/p", "p").orElseThrow()).contains("is unknown: no answer");
    long own = 8 * FakeWorld.GIB;
    world.report("a", new Gpu("a0", 0, own, Map.of("ns/p", own)), new Gpu("a1", 0.5, 0));
    world.outcome = new ApiServer.BindOutcome.Bound();
    assertThat(bind("ns/p", "p")).isEmpty();
    assertThat(world.assigned)
        .hasSize(2)
        .allSatisfy(a -> assertThat(a.placement().held()).containsOnlyKeys("a0"));
  }

  @Test
  void nodeThatIsNotHeardYet_isNotCalledFull() {
    var young = new FakeWorld(Policy.LOAD);
    young.state.apply(new Event.NodeSeen(new NodeFacts("a", Set.of(), "", true)));
    young.see(FakeWorld.pod("p", 3));
    var first = young.bind(new Loop(vertx.getOrCreateContext()));
    assertThat(first.bind("ns/p", "p", "a").await().orElseThrow()).contains("first reports");
    young.nowMs += ReadinessGate.FIRST_REPORTS_MS;
    assertThat(first.bind("ns/p", "p", "a").await().orElseThrow()).contains("no longer fits");
  }

  @Test
  void leadershipThatIsLostWhileTheNodeIsWaitedFor_endsTheBind() {
    world.see(FakeWorld.pod("p", 3));
    world.readiness.closeWhile(
        () -> world.assigned.isEmpty() ? Optional.empty() : Optional.of("another leads"), () -> 0);
    assertThat(bind("ns/p", "p")).hasValue("another leads");
    assertThat(world.ledger.hold("p")).isEmpty();
    assertThat(bind("ns/p", "p")).hasValue("another leads");
    assertThat(world.assigned).hasSize(1);
  }

  /** Calls to the API server wait for one another; meanwhile leadership may end. */
  @Test
  void bindingThatWaits_isNotSent_onceWeDoNotLead_orHaveLedAnew_orItIsLate() {
    var notLeading = new AtomicReference<>(Optional.<String>empty());
    var term = new AtomicLong(1);
    world.readiness.closeWhile(notLeading::get, term::get);
    world.see(FakeWorld.pod("p", 3));
    assertThat(bind("ns/p", "p")).isEmpty();
    Supplier<Optional<String>> expiry = world.expiries.getFirst();
    assertThat(expiry.get()).isEmpty();
    notLeading.set(Optional.of("another leads"));
    assertThat(expiry.get()).hasValue("another leads");
    notLeading.set(Optional.empty());
    term.set(2);
    assertThat(expiry.get().orElseThrow()).contains("another replica may have decided");
    term.set(1);
    world.nowMs += Bind.SEND_WITHIN_MS - 1;
    assertThat(expiry.get()).isEmpty();
    world.nowMs++;
    assertThat(expiry.get().orElseThrow()).contains("was queued for 5000 ms");
  }

  /** kube-scheduler asks again when an answer was too late for it. */
  @Test
  void bindThatIsAskedForAgain_happensOnce() {
    world.see(FakeWorld.pod("p", 3));
    Promise<Void> acknowledgement = Promise.promise();
    world.acknowledged = acknowledgement.future();
    var first = bind.bind("ns/p", "p", "a");
    var again = bind.bind("ns/p", "p", "a");
    assertThat(bind.bind("ns/p", "p", "b").await().orElseThrow()).contains("being bound to node a");
    assertThat(first.isComplete()).isFalse();
    acknowledgement.complete();
    assertThat(first.await()).isEmpty();
    assertThat(again.await()).isEmpty();
    assertThat(bind("ns/p", "p")).isEmpty();
    assertThat(bind.bind("ns/p", "p", "b").await().orElseThrow()).contains("is bound to node a");
    assertThat(world.assigned).hasSize(1);
    assertThat(world.registry.get("tranche.extender.binds.in.flight").gauge().value()).isZero();
  }

  @Test
  void bindThatComesToNothing_leavesNoHoldAndNoAssignment() {
    world.see(FakeWorld.pod("p", 3));
    world.outcome = new ApiServer.BindOutcome.Refused("no");
    assertThat(bind("ns/p", "p").orElseThrow()).contains("was not bound to node a: no");
    assertThat(world.ledger.hold("p")).isEmpty();
    world.acknowledged = Future.failedFuture("300 ms");
    assertThat(bind("ns/p", "p").orElseThrow()).contains("did not acknowledge", "300 ms");
    assertThat(world.ledger.hold("p")).isEmpty();
    assertThat(world.retracted).containsExactly("p", "p");
  }

  /** A defect of ours, such as a class that the image lacks, ends as any other bind does. */
  @Test
  void bindThatFailsByADefect_isAnswered_andItsHoldDoesNotStay() {
    world.see(FakeWorld.pod("p", 3));
    world.failure = new NoClassDefFoundError("left/Out");
    assertThat(bind("ns/p", "p").orElseThrow()).contains("is unknown", "left/Out");
    assertThat(world.registry.get("tranche.extender.binds.in.flight").gauge().value()).isZero();
    // When its time is up the API server is asked, and says that the pod is pending.
    world.onServer.put("ns/p", FakeWorld.pod("p", 3));
    world.pass(10 * 60_000);
    assertThat(world.ledger.hold("p")).isEmpty();
    world.unassignable = new NoClassDefFoundError("left/OutToo");
    assertThat(bind("ns/p", "p").orElseThrow()).contains("left/OutToo");
    assertThat(world.ledger.hold("p")).isEmpty();
    assertThat(world.registry.get("tranche.extender.binds.in.flight").gauge().value()).isZero();
  }

  @Test
  void podThatIsFoundBoundElsewhere_isHeldThere() {
    world.report("b", new Gpu("b0", 0, 0));
    world.see(FakeWorld.pod("p", 3));
    world.outcome = new ApiServer.BindOutcome.BoundElsewhere("b");
    assertThat(bind("ns/p", "p").orElseThrow()).contains("is bound to node b");
    assertThat(world.ledger.hold("p").orElseThrow().node()).isEqualTo("b");
    assertThat(world.retracted).containsExactly("p");
    assertThat(world.ledger.hold("p").orElseThrow().expiresAtMs()).isLessThan(Long.MAX_VALUE);
  }

  /** The room is not asked for once more, whatever kube-scheduler has made of the first bind. */
  @Test
  void podThatIsBeingBound_isOfferedItsNodeAlone() {
    world.report("b", new Gpu("b0", 0, 0));
    var pod = FakeWorld.pod("p", 3);
    world.see(pod);
    world.acknowledged = Promise.<Void>promise().future();
    assertThat(bind.bind("ns/p", "p", "a").isComplete()).isFalse();
    var filter = world.filter(0);
    assertThat(filter.filter(pod, List.of("a", "b"), false))
        .isEqualTo(new Filter.Answer.Nodes(List.of("a"), Map.of()));
    assertThat(filter.filter(pod, List.of("b"), false)).isInstanceOf(Filter.Answer.Undecided.class);
    assertThat(world.ledger.hold("p").orElseThrow().stage()).isEqualTo(Hold.Stage.BINDING);
  }

  private Optional<String> bind(String key, String uid) {
    return bind.bind(key, uid, "a").await();
  }
}
