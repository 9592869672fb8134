package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.controller.UnknownCordons.Cordons;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.fabric8.kubernetes.api.model.Event;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class UnknownCordonsTest {
  private static final Set<String> GPUS = Set.of("GPU-1", "GPU-2");
  private final List<Event> created = new ArrayList<>();
  private boolean deciding = true;
  private boolean refused;
  private List<Cordons> nodes = List.of();
  private long nowMs;
  private final UnknownCordons cordons =
      new UnknownCordons(
          () -> nodes,
          event -> {
            created.add(event);
            return refused ? Future.failedFuture("away") : Future.succeededFuture();
          },
          () -> deciding,
          new NodeRate(
              "cordon-events",
              UnknownCordons.RATE,
              () -> nowMs,
              new ExtenderMetrics(new SimpleMeterRegistry())));

  private void look(String... uuids) {
    nodes = List.of(new Cordons("a", Set.of(uuids), GPUS));
    cordons.everyTenSeconds();
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

  /** A node may change its own annotation all the time. */
  @Test
  void uuidsThatChangeAllTheTime_areToldAtARate() {
    for (int check = 0; check < 360; check++) {
      nowMs = check * 10_000L;
      look("GPU-of-" + check / 2);
    }
    // A burst of five, and one in ten minutes.
    assertThat(created).hasSizeBetween(9, 11);
  }

  @Test
  void eventThatIsNotWritten_isTriedAgain() {
    refused = true;
    look("GPU-3");
    look("GPU-3");
    look("GPU-3");
    assertThat(created).hasSize(2);
    refused = false;
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
    deciding = false;
    look("GPU-3");
    deciding = true;
    look("GPU-3");
    look("GPU-3");
    assertThat(created).hasSize(2);
    assertThat(created.get(1).getMetadata().getName())
        .isEqualTo(created.getFirst().getMetadata().getName());
  }

  @Test
  void manyNodesAtOnce_areToldInTurns() {
    List<Cordons> many =
        IntStream.range(0, 25).mapToObj(i -> new Cordons("n" + i, Set.of("GPU-9"), GPUS)).toList();
    checkTenSecondsLater(many);
    checkTenSecondsLater(many);
    assertThat(created).hasSize(UnknownCordons.EVENTS_PER_CHECK_MAX);
    checkTenSecondsLater(many);
    checkTenSecondsLater(many);
    checkTenSecondsLater(many);
    assertThat(created).hasSize(25);
  }

  private void checkTenSecondsLater(List<Cordons> now) {
    nowMs += 10_000;
    nodes = now;
    cordons.everyTenSeconds();
  }
}
