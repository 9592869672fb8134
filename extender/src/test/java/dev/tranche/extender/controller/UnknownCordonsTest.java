package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.verb.FakeWorld;
import io.fabric8.kubernetes.api.model.Event;
import io.vertx.core.Future;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class UnknownCordonsTest {
  private final ControllerRig rig = new ControllerRig();
  private final List<Event> created = rig.created;
  private final UnknownCordons cordons = new UnknownCordons(rig.context);

  private void look(String... uuids) {
    node("a", uuids);
    cordons.everyTenSeconds();
  }

  private void node(String name, String... cordoned) {
    rig.world.state.apply(
        new dev.tranche.extender.ledger.Event.NodeSeen(
            new NodeFacts(name, Set.of(cordoned), "", true)));
    rig.world.report(name, new FakeWorld.Gpu("GPU-1", 0, 0), new FakeWorld.Gpu("GPU-2", 0, 0));
  }

  @Test
  void uuidThatNoGpuHas_isToldOnce_andAgainWhenItChanges() throws IOException {
    look("GPU-1", "GPU-3");
    assertThat(created).isEmpty();
    look("GPU-1", "GPU-3");
    look("GPU-1", "GPU-3");
    assertThat(created).hasSize(1);
    Event event = created.getFirst();
    assertThat(event.getType()).isEqualTo("Warning");
    assertThat(event.getInvolvedObject().getKind()).isEqualTo("Node");
    assertThat(event.getInvolvedObject().getName()).isEqualTo("a");
    assertThat(event.getMessage())
        .contains("tranche.dev/cordon-gpus")
        .contains("names GPU-3, and")
        .contains("The node's GPUs: GPU-1, GPU-2.");
    assertThat(Files.readString(Path.of("../docs/errors.md")))
        .contains("| `" + event.getReason() + "` |");
    look("GPU-4");
    look("GPU-4");
    assertThat(created).hasSize(2);
    assertThat(created.get(1).getMetadata().getName()).isNotEqualTo(event.getMetadata().getName());
  }

  /** The API server keeps an event for an hour and up to a minute. */
  @Test
  void uuidThatStaysUnknown_isToldAgain_onlyOnceTheEventIsSurelyGone() {
    look("GPU-3");
    look("GPU-3");
    rig.world.nowMs += 61 * 60_000;
    look("GPU-3");
    assertThat(created).hasSize(1);
    rig.world.nowMs += 5 * 60_000;
    look("GPU-3");
    assertThat(created).hasSize(2);
  }

  /** A node may change its own annotation all the time. */
  @Test
  void uuidsThatChangeAllTheTime_areToldAtARate() {
    for (int check = 0; check < 360; check++) {
      rig.world.nowMs += 10_000;
      look("GPU-of-" + check / 2);
    }
    // One of each two checks, at most.
    assertThat(created).hasSizeBetween(100, 180);
  }

  @Test
  void eventThatIsNotWritten_isTriedAgain() {
    rig.answer = Future.failedFuture("away");
    look("GPU-3");
    look("GPU-3");
    look("GPU-3");
    assertThat(created).hasSize(2);
    rig.answer = Future.succeededFuture();
    look("GPU-3");
    look("GPU-3");
    assertThat(created).hasSize(3);
  }

  @Test
  void knownUuids_areNotTold_norWhatIsMended() {
    look("GPU-1", "GPU-2");
    look("GPU-1", "GPU-2");
    look("GPU-3");
    look("GPU-2");
    look("GPU-3");
    assertThat(created).isEmpty();
  }

  @Test
  void afterARestart_theEventHasTheSameName() {
    look("GPU-3");
    look("GPU-3");
    rig.deciding = false;
    look("GPU-3");
    rig.deciding = true;
    look("GPU-3");
    look("GPU-3");
    assertThat(created).hasSize(1);
    var restarted = new ControllerRig(rig.world);
    var again = new UnknownCordons(restarted.context);
    again.everyTenSeconds();
    again.everyTenSeconds();
    assertThat(restarted.created.getFirst().getMetadata().getName())
        .isEqualTo(created.getFirst().getMetadata().getName());
  }
}
