package dev.tranche.extender.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import io.vertx.core.Future;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** A pod that the former leader rejected waits for room that only that leader would have told. */
final class FirstWakeTest {
  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private Optional<String> gate = Optional.of("another leads");

  private void ticks(int count) {
    for (int i = 0; i < 4 * count; i++) {
      world.pass(250);
    }
  }

  private void start() {
    world.readiness.closeWhile(() -> gate, () -> 0);
    world.state.apply(new Event.NodeSeen(new NodeFacts("a", Set.of(), "", true)));
    world.report("a", new FakeWorld.Gpu("GPU-a", 0, 0));
  }

  @Test
  void newLeader_wakesOnce_whateverItKnows() {
    start();
    ticks(5);
    assertThat(world.woken).isEmpty();
    gate = Optional.empty();
    ticks(100);
    assertThat(world.woken).containsExactly("a");
  }

  @Test
  void leaderThatLedBefore_wakesAgain() {
    start();
    gate = Optional.empty();
    ticks(5);
    gate = Optional.of("another leads");
    ticks(5);
    gate = Optional.empty();
    ticks(5);
    assertThat(world.woken).containsExactly("a", "a");
  }

  @Test
  void patchThatFails_isTriedAgain() {
    start();
    gate = Optional.empty();
    world.patched = Future.failedFuture("status 503");
    ticks(3);
    assertThat(world.woken).hasSize(3);
    world.patched = Future.succeededFuture();
    ticks(3);
    assertThat(world.woken).hasSize(4);
  }
}
