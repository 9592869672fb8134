package dev.tranche.extender.snapshot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class NodeFitCacheTest {
  private final FakeWorld world = new FakeWorld(Policy.LOAD);

  @BeforeEach
  void report() {
    world.report("a", new Gpu("a0", 0.2, 0));
    world.report("b", new Gpu("b0", 0.2, 0));
  }

  private NodeFit of(String node) {
    return world.evaluator.evaluate(FakeWorld.pod("p", 3), node);
  }

  @Test
  void unchangedNode_isNotEvaluatedAgain() {
    NodeFit a = of("a");
    NodeFit b = of("b");
    world.report("b", new Gpu("b0", 0.7, 0));
    assertThat(of("a")).isSameAs(a);
    NodeFit busier = of("b");
    assertThat(busier.headroom()).isLessThan(b.headroom());
    world.report("b", new Gpu("b0", 0.7, 0));
    assertThat(of("b")).isSameAs(busier);
  }

  @Test
  void hold_isSeenAtOnceAndFadesWithReadingsOnly() {
    of("a");
    world.see(FakeWorld.pod("q", 5, "tranche.dev/gpu=a0").on("a"));
    NodeFit young = of("a");
    assertThat(young.gpus().getFirst().freeReplicas()).isEqualTo(5);
    world.nowMs += Timing.DEFAULT.youngMs() / 2;
    assertThat(of("a")).isSameAs(young);
    world.nowMs += Timing.DEFAULT.youngMs();
    assertThat(of("a").gpus().getFirst().smLoad()).isEqualTo(young.gpus().getFirst().smLoad());
    world.report("a", new Gpu("a0", 0.2, 0));
    assertThat(of("a").gpus().getFirst().smLoad()).isLessThan(young.gpus().getFirst().smLoad());
    world.state.apply(new Event.PodGone("q", "ns/q"));
    assertThat(of("a").gpus().getFirst().freeReplicas()).isEqualTo(10);
  }

  @Test
  void hold_fadesByTimeAlone_whenReadingsHaveStoppedForLong() {
    world.see(FakeWorld.pod("q", 5, "tranche.dev/gpu=a0").on("a"));
    world.nowMs += 20_000;
    NodeFit stale = of("a");
    world.nowMs += Timing.DEFAULT.newcomerMs();
    assertThat(of("a").gpus().getFirst().smLoad()).isLessThan(stale.gpus().getFirst().smLoad());
  }

  @Test
  void staleReading_countsNoMore() {
    assertThat(of("a").gpus().getFirst().measured()).isTrue();
    world.nowMs += 15_001;
    assertThat(of("a").gpus().getFirst().measured()).isFalse();
  }

  @Test
  void staleReading_thatComesAgainAlike_countsAgain() {
    of("a");
    world.nowMs += 15_001;
    assertThat(of("a").gpus().getFirst().measured()).isFalse();
    world.report("a", new Gpu("a0", 0.2, 0));
    assertThat(of("a").gpus().getFirst().measured()).isTrue();
    world.nowMs += 15_000;
    assertThat(of("a").gpus().getFirst().measured()).isTrue();
  }

  private long cachedFits() {
    return world.evaluations.pages.values().stream()
        .flatMap(page -> Stream.of(page.evaluations))
        .filter(Objects::nonNull)
        .count();
  }

  @Test
  void changedNode_isForgottenByAllKindsOfPods() {
    of("a");
    of("b");
    NodeFit larger = world.evaluator.evaluate(FakeWorld.pod("q", 4), "b");
    assertThat(cachedFits()).isEqualTo(3);
    world.report("b", new Gpu("b0", 0.7, 0));
    of("b");
    assertThat(cachedFits()).isEqualTo(2);
    assertThat(world.evaluator.evaluate(FakeWorld.pod("q", 4), "b").headroom())
        .isLessThan(larger.headroom());
  }

  @Test
  void nodeThatComesBack_isLookedAtAnew() {
    NodeEvaluator.ForPod evaluator = world.evaluator.forPod(FakeWorld.pod("p", 3));
    assertThat(evaluator.of("a")).isSameAs(of("a")).isSameAs(evaluator.of("a"));
    world.state.apply(new Event.StreamLost("a"));
    world.state.apply(new Event.NodeGone("a"));
    assertThat(evaluator.of("a").refusedFor(Reason.NO_REPORT)).isTrue();
    world.report("a", new Gpu("a0", 0.7, 0));
    assertThat(evaluator.of("a")).isSameAs(of("a"));
    assertThat(evaluator.of("a").fits()).isTrue();
  }

  @Test
  void nodeThatIsGone_isNotRemembered() {
    world.see(FakeWorld.pod("q", 5, "tranche.dev/gpu=a0").on("a"));
    world.state.apply(new Event.StreamLost("a"));
    world.state.apply(new Event.NodeGone("a"));
    of("never");
    of("a");
    of("b");
    // Its pod still is on it.
    assertThat(world.evaluations.slots.size()).isEqualTo(2);
    world.state.apply(new Event.PodGone("q", "ns/q"));
    world.pass(Timing.DEFAULT.tombstoneMs());
    of("a");
    assertThat(world.evaluations.slots.size()).isOne();
  }

  @Test
  void forgottenShape_leavesNothingToTheOneAfterIt() {
    for (int share = 1; share <= 9; share++) {
      for (int i = 0; i < NodeFitCache.SHAPES_MAX; i++) {
        var pod = FakeWorld.pod("p", share, "tranche.dev/shape=" + i);
        assertThat(world.evaluator.evaluate(pod, "a").request().demand().peakReplicas())
            .isEqualTo(share);
      }
    }
    assertThat(world.evaluations.pages.size()).isEqualTo(NodeFitCache.SHAPES_MAX);
  }
}
