package dev.tranche.extender.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Decision;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Promise;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class PodChecksTest {
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final List<Promise<Optional<PodFacts>>> reads = new ArrayList<>();
  private final List<Event> answers = new ArrayList<>();
  private long nowMs;
  private final PodChecks checks =
      new PodChecks(
          key -> {
            Promise<Optional<PodFacts>> read = Promise.promise();
            reads.add(read);
            return read.future();
          },
          () -> nowMs,
          new ExtenderMetrics(registry));

  private void check(String uid) {
    check("node-of-" + uid, uid);
  }

  private void check(String node, String uid) {
    checks.check(new Decision.CheckPod(node, uid, "ns/" + uid), 7, answers::add);
  }

  @Test
  void answer_saysWhenItWasAsked() {
    PodFacts pod = FakeWorld.pod("p", 3).on("a");
    check("p");
    reads.getFirst().complete(Optional.of(pod));
    assertThat(answers).containsExactly(new Event.PodChecked("p", "ns/p", pod, 7));
  }

  @Test
  void anotherPodOfThatName_isNotThePod() {
    check("old");
    reads.getFirst().complete(Optional.of(FakeWorld.pod("new", 3)));
    assertThat(answers).containsExactly(new Event.PodChecked("old", "ns/old", null, 7));
  }

  @Test
  void failedQuestion_isNoAnswer() {
    check("p");
    reads.getFirst().fail("status 503");
    assertThat(answers).isEmpty();
  }

  @Test
  void podThatIsBeingRead_isReadOnce() {
    check("p");
    check("p");
    assertThat(reads).hasSize(1);
    reads.getFirst().fail("status 503");
    check("p");
    assertThat(reads).hasSize(2);
  }

  /** It may say that it keeps assignments of pods that nobody knows. */
  @Test
  void podsThatOneNodeNames_areReadAtARate() {
    int answered = 0;
    for (int second = 0; second < 60; second++) {
      nowMs = second * 1_000L;
      for (int i = 0; i < 100; i++) {
        check("liar", "p" + second + "-" + i);
      }
      for (; answered < reads.size(); answered++) {
        reads.get(answered).complete(Optional.empty());
      }
    }
    assertThat(reads).hasSizeBetween(128 + 59 * 5 - 1, 128 + 60 * 5);
    int before = reads.size();
    check("q");
    assertThat(reads).hasSize(before + 1);
  }

  /** From the Ledger's question to the room that is kept. */
  @Test
  void acceptedBindingThatNoWatchShows_keepsItsRoom() {
    var world = new FakeWorld(Policy.LOAD);
    world.report("a", new FakeWorld.Gpu("GPU-a", 0, 0));
    PodFacts pod = FakeWorld.pod("p", 3);
    world.see(pod);
    world.state.assign(
        new Event.BindStarted(
            pod, "a", world.evaluator.evaluate(pod, "a").placement().orElseThrow()));
    world.state.apply(new Event.BindDone("p"));
    world.onServer.put("ns/p", pod.on("a"));
    for (int i = 0; i < 200; i++) {
      world.pass(1_000);
    }
    assertThat(world.ledger.holds("a")).hasSize(1);
    assertThat(world.ledger.pod("p").orElseThrow().node()).isEqualTo("a");
  }
}
