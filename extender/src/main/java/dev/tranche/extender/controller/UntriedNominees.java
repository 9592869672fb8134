package dev.tranche.extender.controller;

import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.Explanations.Trace;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.SchedulerVerdict.Kind;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.snapshot.NodeEvaluator;
import io.fabric8.kubernetes.api.model.Event;
import io.vertx.core.Future;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Writes an event for each nominated pod that kube-scheduler does not try again, although its
 * victims are gone and it fits its node. A defect of kube-scheduler can leave a pod so until its
 * next flush, after five minutes (kubernetes/kubernetes#141694). Confined to the event loop.
 */
public final class UntriedNominees implements Controller {
  static final String REASON = "NominatedPodNotRetried";

  /** kube-scheduler tries a pod within seconds after the last victim is gone. */
  static final long AFTER_MS = 30_000;

  /** How many pods are looked at in one turn of the loop: each is evaluated on its node. */
  static final int PODS_MAX = 100;

  private final Ledger ledger;
  private final NodeEvaluator evaluator;
  private final Explanations explanations;
  private final LongSupplier clockMs;
  private final BooleanSupplier deciding;
  private final PodEventQueue events;

  /** By uid, the pods that fit their node since a try that refused them. */
  private Map<String, Fitting> fitting = Map.of();

  /** Read on another thread. */
  private volatile int untried;

  private record Fitting(String node, Instant refusedAt, long sinceMs) {}

  /**
   * @param deciding whether this extender may decide at all, as a leader does
   */
  public UntriedNominees(
      Ledger ledger,
      NodeEvaluator evaluator,
      Explanations explanations,
      Function<Event, Future<?>> writer,
      BooleanSupplier deciding,
      LongSupplier clockMs,
      ExtenderMetrics metrics) {
    this.ledger = ledger;
    this.evaluator = evaluator;
    this.explanations = explanations;
    this.deciding = deciding;
    this.clockMs = clockMs;
    this.events =
        new PodEventQueue(
            REASON,
            writer,
            metrics,
            "tranche.extender.untried.nominee.events",
            "Events for nominated pods that fit their node and are not retried.");
    metrics.gauge(
        "tranche.extender.nominees.untried",
        "Nominated pods that have fitted their node for 30 s, and that kube-scheduler has not"
            + " retried.",
        () -> untried);
  }

  @Override
  public void everyTenSeconds() {
    long nowMs = clockMs.getAsLong();
    var now = new HashMap<String, Fitting>();
    var late = new HashSet<String>();
    for (PodFacts pod : deciding.getAsBoolean() ? nominated() : List.<PodFacts>of()) {
      Fitting since = fitting(pod, nowMs);
      if (since != null) {
        now.put(pod.uid(), since);
        if (nowMs - since.sinceMs() >= AFTER_MS) {
          late.add(pod.uid());
          events.add(pod.key(), pod.uid(), message(since.node()));
        }
      }
    }
    fitting = now;
    untried = late.size();
    events.retain(Set.copyOf(late));
  }

  @Override
  public void tick() {
    if (deciding.getAsBoolean()) {
      events.tick();
    }
  }

  private List<PodFacts> nominated() {
    return ledger.pods().stream()
        .filter(pod -> pod.node() == null && !pod.ended() && !pod.preemption().terminating())
        .filter(pod -> pod.preemption().nominatedNode() != null)
        .limit(PODS_MAX)
        .toList();
  }

  /**
   * Returns since when the pod has fitted its node and was not retried. Null if it does not fit, if
   * its last try found a node, or if a node lacks something else: kube-scheduler then tries it
   * without a call of the extender.
   */
  private @Nullable Fitting fitting(PodFacts pod, long nowMs) {
    String node = pod.preemption().nominatedNode();
    boolean held = ledger.hold(pod.uid()).isPresent() && !ledger.nominated(pod.uid());
    Trace last = explanations.trace(pod).filter(trace -> trace.fittingCount() == 0).orElse(null);
    if (node == null
        || held
        || last == null
        || pod.scheduler().has(Kind.HOST)
        || !evaluator.evaluate(pod, node).fits()) {
      return null;
    }
    Fitting before = fitting.get(pod.uid());
    boolean same =
        before != null && before.node().equals(node) && before.refusedAt().equals(last.at());
    return same ? before : new Fitting(node, last.at(), nowMs);
  }

  private static String message(String node) {
    return ("pods were evicted for this one on node %s, where it fits now, and kube-scheduler has"
            + " not tried it again for 30 s. Wait: kube-scheduler tries each pod after five minutes"
            + " at the latest. If this happens often, report it with the logs of kube-scheduler.")
        .formatted(node);
  }
}
