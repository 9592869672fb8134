package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A node that reports idle GPUs and acknowledges no assignment. */
final class UnacknowledgedTest {
  private static final List<String> ALL = List.of("deaf", "busy", "full");
  @AutoClose private final Vertx vertx = Vertx.vertx();
  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final Bind bind = world.bind(new Loop(vertx.getOrCreateContext()));
  private final FakeWorld.FilterNow filter = world.filter(64);
  private final Prioritize prioritize = world.prioritize();

  @BeforeEach
  void report() {
    world.deaf.add("deaf");
    world.budgets.listed();
    world.report("deaf", new Gpu("d0", 0, 0));
    world.report("busy", new Gpu("b0", 0.6, 0), new Gpu("b1", 0.6, 0), new Gpu("b2", 0.6, 0));
    world.report("full", new Gpu("f0", 0, 0));
    world.see(FakeWorld.pod("x", 10, "tranche.dev/gpu=f0").on("full"));
  }

  @Test
  void pods_goToOtherNodes_andNoneWaitsForEver() {
    int attempts = 0;
    for (int i = 0; i < 12; i++) {
      PodFacts pod = FakeWorld.pod("p" + i, 2);
      world.see(pod);
      while (!bound(pod)) {
        attempts++;
        world.pass(1_000);
        report("busy");
        assertThat(attempts).as("failed attempts").isLessThan(12);
      }
    }
    // One failure begins each backoff: 10 s, then 20 s.
    assertThat(attempts).isBetween(1, 2);
  }

  @Test
  void nodeInBackoff_isNeitherOfferedNorCalledUnschedulable() {
    failOnce();
    var answer = (Filter.Answer.Nodes) filter.filter(pod("q", 3), ALL, false);
    assertThat(answer.nodes()).containsExactly("busy");
    assertThat(answer.refused()).containsOnly(Map.entry(Reason.FULL, List.of("full")));
  }

  /** A refusal would have kube-scheduler evict pods of node full. */
  @Test
  void nodeInBackoffThatAloneHasRoom_isAnErrorOfTheCall() {
    failOnce();
    var answer = filter.filter(pod("q", 3), List.of("deaf", "full"), false);
    assertThat(answer).isInstanceOf(Filter.Answer.Undecided.class);
    assertThat(world.explanations.cause("p")).isEmpty();
    world.pass(10_000);
    world.deaf.clear();
    assertThat(bind.bind("ns/q", "q", "deaf").await()).isEmpty();
    assertThat(world.ledger.acknowledgements.backedOff()).isZero();
  }

  @Test
  void nodeInBackoffWithoutRoom_isRefusedAsAnyOther_andNobodyIsEvictedThere() {
    world.see(FakeWorld.pod("v", 8, "tranche.dev/gpu=d0").on("deaf"));
    failOnce();
    var urgent = FakeWorld.pod("q", 9).with(new PreemptionInfo(50, Map.of(), 1, false, null));
    world.see(urgent);
    var answer = (Filter.Answer.Nodes) filter.filter(urgent, List.of("deaf", "full"), false);
    assertThat(answer.refused()).containsEntry(Reason.FULL, List.of("deaf", "full"));
    var victims =
        Map.of(
            "deaf", new Preempt.VictimUids(List.of("v"), 0),
            "full", new Preempt.VictimUids(List.of("x"), 0));
    assertThat(world.preempt().preempt(urgent, victims).result())
        .isInstanceOfSatisfying(
            Preempt.Answer.Nodes.class, v -> assertThat(v.victims()).containsOnlyKeys("full"));
  }

  /** kube-scheduler may have chosen the node before the failure. */
  @Test
  void bindToNodeInBackoff_isRefusedWithoutAnAssignment() {
    failOnce();
    int sent = world.assigned.size();
    world.see(FakeWorld.pod("q", 2));
    assertThat(bind.bind("ns/q", "q", "deaf").await().orElseThrow())
        .contains("does not acknowledge assignments", "will be retried");
    assertThat(world.assigned).hasSize(sent);
  }

  private void failOnce() {
    world.see(FakeWorld.pod("first", 1));
    assertThat(bind.bind("ns/first", "first", "deaf").await()).isPresent();
    assertThat(world.ledger.acknowledgements.backedOff()).isOne();
  }

  private PodFacts pod(String name, int replicas) {
    PodFacts pod = FakeWorld.pod(name, replicas);
    world.see(pod);
    return pod;
  }

  private void report(String node) {
    world.report(node, new Gpu("b0", 0.6, 0), new Gpu("b1", 0.6, 0), new Gpu("b2", 0.6, 0));
    world.report("deaf", new Gpu("d0", 0, 0));
  }

  /** As kube-scheduler does it: filter, prioritize, and bind to the best node. */
  private boolean bound(PodFacts pod) {
    if (!(filter.filter(pod, ALL, false) instanceof Filter.Answer.Nodes answer)
        || answer.nodes().isEmpty()) {
      return false;
    }
    Map<String, Integer> scores = prioritize.prioritize(pod, answer.nodes());
    String best =
        scores.entrySet().stream().max(Map.Entry.comparingByValue()).orElseThrow().getKey();
    Optional<String> failed = bind.bind(pod.key(), pod.uid(), best).await();
    return failed.isEmpty();
  }
}
