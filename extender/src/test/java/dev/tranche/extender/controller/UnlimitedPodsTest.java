package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.controller.UnlimitedPods.Unlimited;
import dev.tranche.extender.ledger.Limited;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.fabric8.kubernetes.api.model.Event;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Pods without their memory limit, which are evicted. */
final class UnlimitedPodsTest {
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final ExtenderMetrics metrics = new ExtenderMetrics(registry);
  private final List<Event> events = new ArrayList<>();
  private final List<String> asked = new ArrayList<>();
  private List<Unlimited> pods = List.of();
  private Future<Boolean> answer = Future.succeededFuture(true);
  private boolean deciding = true;
  private long nowMs;
  private final UnlimitedPods controller =
      new UnlimitedPods(
          () -> pods,
          pod -> {
            asked.add(pod.name());
            return answer;
          },
          event -> {
            events.add(event);
            return Future.succeededFuture();
          },
          () -> deciding,
          new NodeRate("evictions", UnlimitedPods.RATE, () -> nowMs, metrics),
          metrics);

  private static Unlimited pod(String node, String name) {
    return new Unlimited(node, "ns", name, "uid-" + name, Limited.NO);
  }

  private void check() {
    controller.everyTenSeconds();
    nowMs += 10_000;
  }

  private double evictions(String outcome) {
    return registry
        .get("tranche.extender.unlimited.evictions")
        .tag("outcome", outcome)
        .counter()
        .count();
  }

  @Test
  void podThatIsFoundTwice_isEvicted_andTold() throws IOException {
    pods = List.of(pod("n", "liar"));
    check();
    assertThat(asked).isEmpty();
    check();
    assertThat(asked).containsExactly("liar");
    assertThat(evictions("evicted")).isOne();
    assertThat(events).hasSize(1);
    assertThat(events.getFirst().getInvolvedObject().getUid()).isEqualTo("uid-liar");
    assertThat(events.getFirst().getMessage()).contains("a container of it had none");
    assertThat(Files.readString(Path.of("../docs/errors.md")))
        .contains("| `" + events.getFirst().getReason() + "` |");
    pods = List.of();
    check();
    pods = List.of(pod("n", "liar"));
    check();
    assertThat(asked).as("found once more").hasSize(1);
  }

  /** A stolen node must not have all pods evicted at once. */
  @Test
  void nodeLosesOnePodAtATime() {
    pods = List.of(pod("n", "a"), pod("n", "b"), pod("m", "c"));
    check();
    check();
    assertThat(asked).containsExactly("a", "c");
    pods = List.of(pod("n", "b"));
    check();
    assertThat(asked).containsExactly("a", "c", "b");
  }

  @Test
  void budgetThatForbidsIt_isAskedAgain_andOneRequestIsUnderWay() {
    pods = List.of(pod("n", "a"));
    answer = Future.succeededFuture(false);
    check();
    check();
    check();
    assertThat(asked).containsExactly("a", "a");
    assertThat(evictions("refused")).isEqualTo(2);
    assertThat(events).isEmpty();
    Promise<Boolean> later = Promise.promise();
    answer = later.future();
    check();
    check();
    assertThat(asked).hasSize(3);
    later.fail("away");
    check();
    assertThat(asked).hasSize(4);
  }

  @Test
  void podThatABudgetProtects_leavesItsNodesOthersTheirTurn() {
    pods = List.of(pod("n", "a"), pod("n", "b"));
    answer = Future.succeededFuture(false);
    check();
    check();
    check();
    check();
    assertThat(asked).containsExactly("a", "b", "a");
  }

  @Test
  void standby_evictsNothing_andBeginsAnew() {
    pods = List.of(pod("n", "a"));
    check();
    deciding = false;
    check();
    deciding = true;
    check();
    assertThat(asked).isEmpty();
    check();
    assertThat(asked).containsExactly("a");
  }
}
