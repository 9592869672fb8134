package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.controller.UnlimitedPods.Unlimited;
import dev.tranche.extender.ledger.Limited;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/** Pods without their memory limit, which are evicted. */
final class UnlimitedPodsTest {
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final ExtenderMetrics metrics = new ExtenderMetrics(registry);
  private final List<Event> events = new ArrayList<>();
  private final List<String> asked = new ArrayList<>();
  private List<Unlimited> pods = List.of();
  private final Set<String> terminating = new HashSet<>();
  private final Set<String> unknown = new HashSet<>();
  private Future<Boolean> answer = Future.succeededFuture(true);
  private Future<?> eventAnswer = Future.succeededFuture();
  private boolean deciding = true;
  private long nowMs;
  private final UnlimitedPods controller =
      new UnlimitedPods(
          () -> pods,
          this::facts,
          pod -> {
            asked.add(pod.name());
            return answer;
          },
          event -> {
            events.add(event);
            return eventAnswer;
          },
          () -> deciding,
          new NodeRate("evictions", UnlimitedPods.RATE, () -> nowMs, metrics),
          metrics);

  private static Unlimited pod(String node, String name) {
    return new Unlimited(node, "ns", name, "uid-" + name, Limited.NO);
  }

  private Optional<PodFacts> facts(String uid) {
    if (unknown.contains(uid)) {
      return Optional.empty();
    }
    var preemption = new PreemptionInfo(0, Map.of(), 0, terminating.contains(uid), null);
    return Optional.of(
        new PodFacts(
            uid, "ns", uid, "n", false, true, Names.RESOURCE, List.of(), Map.of(), preemption));
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

  /** The API server answers that it has evicted it, as often as it is asked. */
  @Test
  void podThatEnds_isNotEvictedAgain_andLeavesItsNodesOthersTheirTurn() {
    pods = List.of(pod("n", "slow"), pod("n", "next"));
    check();
    check();
    assertThat(asked).containsExactly("slow");
    terminating.add("uid-slow");
    check();
    assertThat(asked).containsExactly("slow", "next");
    terminating.add("uid-next");
    check();
    assertThat(asked).containsExactly("slow", "next");
    assertThat(evictions("evicted")).isEqualTo(2);
  }

  @Test
  void podThatTheLedgerDoesNotKnow_isNotEvicted() {
    pods = List.of(pod("n", "gone"), pod("n", "next"));
    unknown.add("uid-gone");
    check();
    check();
    assertThat(asked).containsExactly("next");
  }

  @Test
  void eventThatExists_isNoWarning() {
    List<LogRecord> warnings = new ArrayList<>();
    var log = Logger.getLogger(UnlimitedPods.class.getName());
    Handler handler =
        new Handler() {
          @Override
          public void publish(LogRecord written) {
            if (written.getMessage().contains("no event for pod")) {
              warnings.add(written);
            }
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    log.addHandler(handler);
    try {
      pods = List.of(pod("n", "a"), pod("m", "b"));
      eventAnswer = Future.failedFuture(new KubernetesClientException("there", 409, null));
      check();
      check();
      assertThat(events).hasSize(2);
      assertThat(warnings).isEmpty();
      eventAnswer = Future.failedFuture(new KubernetesClientException("no", 403, null));
      check();
      assertThat(warnings).hasSize(2);
    } finally {
      log.removeHandler(handler);
    }
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
