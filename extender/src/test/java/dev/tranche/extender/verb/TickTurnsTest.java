package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.snapshot.NodeFitCache;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The clock's turns divide what a new list of thousands of nodes leaves to do. */
class TickTurnsTest {
  private static final int NODES = 2_500;
  private static final List<String> NAMES =
      IntStream.range(0, NODES).mapToObj(n -> "node-" + n).toList();

  private final FakeWorld world = new FakeWorld(Policy.LOAD);

  private void list(boolean advertises) {
    for (String node : NAMES) {
      world.state.apply(new Event.NodeSeen(new NodeFacts(node, Set.of(), "", advertises)));
    }
  }

  private void report() {
    for (String node : NAMES) {
      world.report(node, new FakeWorld.Gpu("gpu-of-" + node, 0, 0));
    }
  }

  @Test
  void tick_marksAThousandNodes_andAllOthersAreMarkedOnTheirUse() {
    list(true);
    report();
    String last = NAMES.getLast();
    PodFacts pod = FakeWorld.pod("p", 3);
    assertThat(world.evaluator.evaluate(pod, last).fits()).isTrue();
    while (world.ledger.changes.size() > 0) {
      world.tick();
    }
    world.state.apply(
        new Event.Reserve(FakeWorld.pod("whole", 10), last, on("gpu-of-" + last, 10)));
    list(true);
    world.state.tick();
    assertThat(world.ledger.changes.size()).isEqualTo(NODES - NodeFitCache.MARKED_MAX);
    assertThat(world.evaluator.evaluate(pod, last).fits()).as("as it is now").isFalse();
    assertThat(world.ledger.changes.take(last)).isFalse();
  }

  @Test
  void tick_endsTheHoldsOfAThousandNodes_andTheNextOnesThoseOfTheOthers() {
    list(true);
    report();
    for (String node : NAMES) {
      var held = FakeWorld.pod("held-" + node, 10);
      world.state.apply(new Event.Reserve(held, node, on("gpu-of-" + node, 10)));
    }
    world.pass(60_000);
    assertThat(held()).isEqualTo(NODES - 1_000);
    world.state.apply(new Event.NodeGone(NAMES.getLast()));
    world.tick();
    world.tick();
    assertThat(held()).as("also of a node that is gone meanwhile").isZero();
  }

  private long held() {
    return NAMES.stream().filter(n -> world.ledger.hold("held-" + n).isPresent()).count();
  }

  private static Placement on(String uuid, int replicas) {
    var share = new Placement.Share(uuid, replicas);
    return Placement.of(List.of(new Placement.Container("main", List.of(share))));
  }
}
