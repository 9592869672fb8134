package dev.tranche.extender.verb;

import dev.tranche.extender.ledger.Decision;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.vertx.core.Future;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Asks the API server for pods whose bindings no watch has shown. A question that fails, or that is
 * one too many, is not answered: the Ledger keeps the hold and asks again. Confined to the loop.
 */
final class PodChecks {
  /** Binds use the same workers, and are more urgent. */
  static final int IN_FLIGHT_MAX = 16;

  private final ExtenderMetrics metrics;
  private Function<String, Future<Optional<PodFacts>>> pods;
  private int inFlight;

  /**
   * @param pods by {@code namespace/name}; completes on the loop
   */
  PodChecks(Function<String, Future<Optional<PodFacts>>> pods, ExtenderMetrics metrics) {
    this.pods = pods;
    this.metrics = metrics;
  }

  void readBy(Function<String, Future<Optional<PodFacts>>> reader) {
    pods = reader;
  }

  void check(Decision.CheckPod check, long nowMs, Consumer<Event> answer) {
    if (inFlight >= IN_FLIGHT_MAX) {
      count("dropped");
      return;
    }
    inFlight++;
    pods.apply(check.key())
        .onComplete(
            read -> {
              inFlight--;
              if (read.failed()) {
                count("failed");
                return;
              }
              // The name may have passed to another pod.
              PodFacts pod =
                  read.result().filter(found -> found.uid().equals(check.uid())).orElse(null);
              count(pod == null ? "gone" : pod.node() == null ? "pending" : "bound");
              answer.accept(new Event.PodChecked(check.uid(), check.key(), pod, nowMs));
            });
  }

  private void count(String outcome) {
    metrics
        .counter(
            "tranche.extender.pod.checks",
            "Pods that the API server was asked about because no watch had shown their binding.",
            "outcome",
            outcome)
        .increment();
  }
}
