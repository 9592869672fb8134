package dev.tranche.extender.state;

import dev.tranche.extender.ledger.Decision;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.micrometer.core.instrument.Counter;
import io.vertx.core.Future;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Asks the API server for pods whose bindings no watch has shown, one after the other in their
 * order. A question that fails, or that is one too many, is not answered: the Ledger keeps the hold
 * and asks again. Confined to the loop.
 */
public final class PodChecks {
  /** Binds use the same workers, and are more urgent. */
  static final int IN_FLIGHT_MAX = 16;

  /** After an outage of the API server all binds of that time may be unknown. */
  static final int WAITING_MAX = 1_024;

  private final ExtenderMetrics metrics;
  private final Function<String, Future<Optional<PodFacts>>> pods;
  private int inFlight;

  /** By uid, in their order. */
  private final Map<String, Question> waiting = new LinkedHashMap<>();

  private record Question(Decision.CheckPod check, long nowMs, Consumer<Event> answer) {}

  /**
   * @param pods by {@code namespace/name}; completes on the loop
   */
  public PodChecks(Function<String, Future<Optional<PodFacts>>> pods, ExtenderMetrics metrics) {
    this.pods = pods;
    this.metrics = metrics;
    List.of("gone", "pending", "bound", "failed", "dropped").forEach(this::counter);
  }

  void check(Decision.CheckPod check, long nowMs, Consumer<Event> answer) {
    var question = new Question(check, nowMs, answer);
    if (inFlight < IN_FLIGHT_MAX) {
      ask(question);
    } else if (waiting.size() < WAITING_MAX || waiting.containsKey(check.uid())) {
      waiting.putIfAbsent(check.uid(), question);
    } else {
      count("dropped");
    }
  }

  private void ask(Question question) {
    inFlight++;
    pods.apply(question.check().key())
        .onComplete(
            read -> {
              inFlight--;
              askNext();
              if (read.succeeded()) {
                answer(question, read.result());
              } else {
                count("failed");
              }
            });
  }

  private void askNext() {
    Iterator<Question> next = waiting.values().iterator();
    if (next.hasNext() && inFlight < IN_FLIGHT_MAX) {
      Question question = next.next();
      next.remove();
      ask(question);
    }
  }

  private void answer(Question question, Optional<PodFacts> found) {
    Decision.CheckPod check = question.check();
    // The name may have passed to another pod.
    PodFacts pod = found.filter(p -> p.uid().equals(check.uid())).orElse(null);
    count(pod == null ? "gone" : pod.node() == null ? "pending" : "bound");
    question.answer().accept(new Event.PodChecked(check.uid(), check.key(), pod, question.nowMs()));
  }

  private void count(String outcome) {
    counter(outcome).increment();
  }

  private Counter counter(String outcome) {
    return metrics.counter(
        "tranche.extender.pod.checks",
        "Pods that the API server was asked about because no watch had shown their binding.",
        "outcome",
        outcome);
  }
}
