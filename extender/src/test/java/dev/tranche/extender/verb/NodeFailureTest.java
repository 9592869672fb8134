package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.snapshot.ClusterView;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** An exception that one node causes leaves that node out, and all others are answered. */
final class NodeFailureTest {
  private static final List<String> BOTH = List.of("a", "b");

  private final FakeWorld world = new FakeWorld(Policy.LOAD);

  @BeforeEach
  @SuppressWarnings("NullAway") // It stands for any state that the code does not expect.
  void brokenNodeBesideAnother() {
    world.budgets.listed();
    for (String node : BOTH) {
      world.state.apply(new Event.NodeSeen(new NodeFacts(node, Set.of(), "", true)));
    }
    var gpu =
        new GpuFacts(
            "a0", 0, "Tesla T4", Names.RESOURCE, 10, FakeWorld.GIB, true, "", 0, null, 0, Map.of());
    var state = new NodeState(true, List.of(gpu), Map.of(), true, Map.of(), List.of());
    world.state.reported(new Event.Reported("a", state, OptionalLong.of(0)), Map.of());
    world.report("b", new Gpu("b0", 0, 0));
  }

  private double failures() {
    return world.registry.get("tranche.extender.failures").tag("part", "node").counter().count();
  }

  @Test
  void filterAndPrioritize_answerForTheOthers() {
    PodFacts pod = FakeWorld.pod("p", 3);
    double before = failures();
    var answer = (Filter.Answer.Nodes) world.filter().filter(pod, BOTH, true);
    assertThat(answer.nodes()).containsExactly("b");
    assertThat(answer.refused()).containsExactly(Map.entry(Reason.FAILED, List.of("a")));
    assertThat(failures()).isEqualTo(before + 1);
    Map<String, Integer> scores = world.prioritize().prioritize(pod, BOTH);
    assertThat(scores.get("b")).isGreaterThan(scores.get("a"));
    assertThat(failures()).as("the node has not changed").isEqualTo(before + 1);
  }

  @Test
  void failedNode_isTriedAgainLater() {
    PodFacts pod = FakeWorld.pod("p", 3);
    world.filter().filter(pod, BOTH, true);
    double before = failures();
    world.nowMs += ClusterView.FAILED_MS;
    world.filter().filter(pod, BOTH, true);
    assertThat(failures()).isGreaterThan(before);
  }

  @Test
  void preempt_choosesVictimsOnTheOthers() {
    world.see(FakeWorld.pod("x", 10, "tranche.dev/gpu=b0").on("b"));
    world.see(FakeWorld.pod("y", 10, "tranche.dev/gpu=a0").on("a"));
    var urgent = FakeWorld.pod("urgent", 5).with(new PreemptionInfo(50, Map.of(), 1, false, null));
    var x = new Preempt.VictimUids(List.of("x"), 0);
    var y = new Preempt.VictimUids(List.of("y"), 0);
    assertThat(world.preempt().preempt(urgent, Map.of("a", y, "b", x)).result())
        .isEqualTo(new Preempt.Answer.Nodes(Map.of("b", x)));
    assertThat(failures()).isPositive();
  }

  @Test
  void waitingPod_isWokenByAnother() {
    world.see(FakeWorld.pod("x", 10, "tranche.dev/gpu=b0").on("b"));
    PodFacts waits = FakeWorld.pod("waits", 3);
    world.see(waits);
    world.filter().filter(waits, BOTH, true);
    world.waiting.changed("a");
    world.state.apply(new Event.PodGone("x", "ns/x"));
    world.tick();
    world.pass(2_000);
    assertThat(world.woken).contains("b");
  }

  @Test
  void podOnTheNode_isSeen_andTimePassesForAll() {
    world.see(FakeWorld.pod("u", 3, "tranche.dev/gpu=a0").on("a"));
    var share = new Placement.Share("b0", 10);
    var main = new Placement.Container("main", List.of(share));
    world.state.apply(
        new Event.Reserve(FakeWorld.pod("held", 10), "b", Placement.of(List.of(main))));
    world.pass(3_600_000);
    assertThat(world.ledger.hold("held")).isEmpty();
    assertThat(world.ledger.holds("a")).hasSize(1);
    assertThat(failures()).isPositive();
  }

  @Test
  void decisionThatCannotBeCarriedOut_isNotTheLast() {
    var share = new Placement.Share("b0", 10);
    var place = Placement.of(List.of(new Placement.Container("main", List.of(share))));
    PodFacts bound = FakeWorld.pod("p", 10);
    world.see(bound);
    var _ = world.state.assign(new Event.BindStarted(bound, "b", place));
    PodFacts waits = FakeWorld.pod("waits", 3);
    world.see(waits);
    world.filter().filter(waits, List.of("b"), true);
    world.waiting.rejected(waits, List.of(world.evaluator.evaluate(waits, "b")));
    world.tick();
    world.woken.clear();
    world.unretractable = "b";
    world.state.apply(new Event.PodGone("p", "ns/p"));
    world.pass(2_000);
    assertThat(world.retracted).isEmpty();
    assertThat(world.woken).containsExactly("b");
    assertThat(failures()).isPositive();
  }

  @Test
  void readers_seeTheOthers() {
    assertThat(world.inspection().nodes()).extracting(Inspection.Node::name).containsExactly("b");
    world.see(FakeWorld.pod("p", 3));
    var decision = world.explained("ns/p", Optional.empty()).decision();
    assertThat(decision).isNotNull();
    assertThat(decision.nodes().fittedCount()).isEqualTo(1);
    assertThat(decision.nodes().refusedCount()).as("nothing is known of the other").isZero();
  }
}
