package dev.tranche.extender.state;

import dev.tranche.extender.ledger.Decision;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.limit.NodeRate;
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
import java.util.function.LongSupplier;

/**
 * Reads pods from the API server whose bindings no watch has shown, in order and a few at a time. A
 * request that fails, or that is one too many, gets no answer: the Ledger keeps the hold and asks
 * again. Confined to the loop.
 */
public final class PodChecks {
  /** Limit of parallel requests: binds use the same workers, and are more urgent. */
  static final int IN_FLIGHT_MAX = 16;

  /**
   * Limit of waiting requests: after an outage of the API server all binds of that time may be
   * unknown.
   */
  static final int WAITING_MAX = 1_024;

  /** A node can make the Ledger ask by what it says of assignments. */
  static final NodeRate.Limits RATE = new NodeRate.Limits(128, 200, 2 * WAITING_MAX, 100);

  private final ExtenderMetrics metrics;
  private final NodeRate rate;
  private final Function<String, Future<Optional<PodFacts>>> pods;
  private int inFlight;

  /** Waiting requests by pod uid, in their order. */
  private final Map<String, Request> waiting = new LinkedHashMap<>();

  private record Request(Decision.CheckPod check, long nowMs, Consumer<Event> answer) {}

  /**
   * @param pods by {@code namespace/name}; completes on the loop
   */
  PodChecks(
      Function<String, Future<Optional<PodFacts>>> pods,
      LongSupplier clockMs,
      ExtenderMetrics metrics) {
    this.rate = new NodeRate("pod-checks", RATE, clockMs, metrics);
    this.pods = pods;
    this.metrics = metrics;
    List.of("gone", "pending", "bound", "failed", "dropped").forEach(this::counter);
  }

  void check(Decision.CheckPod check, long nowMs, Consumer<Event> answer) {
    var request = new Request(check, nowMs, answer);
    if (waiting.containsKey(check.uid())) {
      return;
    }
    boolean room = inFlight < IN_FLIGHT_MAX || waiting.size() < WAITING_MAX;
    if (!room || !rate.tryAcquire(check.node())) {
      count("dropped");
    } else if (inFlight < IN_FLIGHT_MAX) {
      send(request);
    } else {
      waiting.put(check.uid(), request);
    }
  }

  private void send(Request request) {
    inFlight++;
    read(request.check().key())
        .onComplete(
            read -> {
              inFlight--;
              sendNext();
              if (read.succeeded()) {
                answer(request, read.result());
              } else {
                count("failed");
              }
            });
  }

  /** An exception must free the place of the request, too. */
  private Future<Optional<PodFacts>> read(String key) {
    try {
      return pods.apply(key);
    } catch (RuntimeException bug) {
      return Future.failedFuture(bug);
    }
  }

  private void sendNext() {
    Iterator<Request> next = waiting.values().iterator();
    if (next.hasNext() && inFlight < IN_FLIGHT_MAX) {
      Request request = next.next();
      next.remove();
      send(request);
    }
  }

  private void answer(Request request, Optional<PodFacts> found) {
    Decision.CheckPod check = request.check();
    // Another pod may have the name now.
    PodFacts pod = found.filter(p -> p.uid().equals(check.uid())).orElse(null);
    count(pod == null ? "gone" : pod.node() == null ? "pending" : "bound");
    request.answer().accept(new Event.PodChecked(check.uid(), check.key(), pod, request.nowMs()));
  }

  private void count(String outcome) {
    counter(outcome).increment();
  }

  private Counter counter(String outcome) {
    return metrics.counter(
        "tranche.extender.pod.checks",
        "Pods checked with the API server because no watch had shown their binding.",
        "outcome",
        outcome);
  }
}
