package dev.tranche.extender.controller;

import dev.tranche.api.Demand;
import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.Refusals;
import dev.tranche.extender.explain.Survey;
import dev.tranche.extender.explain.WaitCause;
import dev.tranche.extender.explain.WaitCauses;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.SchedulerVerdict;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.snapshot.NodeSnapshot;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Finds out every few seconds why each pending pod waits, also where kube-scheduler has refused it
 * without a call of the extender. The loop reads nodes in short turns, and a worker evaluates them,
 * once for all pods with equal requests and for a bounded time. What is left comes first the next
 * time. Confined to the loop but for {@link #evaluate}.
 */
public final class WaitSurvey implements Controller {
  static final long EVERY_MS = 3_000;

  /** The work of one survey on a worker, which evaluates at least one kind of request. */
  static final long WORK_MS_MAX = 300;

  private final Ledger ledger;
  private final NodeEvaluator evaluator;
  private final Explanations explanations;
  private final WaitEvents events;
  private final Nodes nodes;
  private final Function<Supplier<Found>, Future<Found>> worker;
  private final BooleanSupplier ready;
  private final LongSupplier clockMs;
  private boolean running;
  private long lastMs = Long.MIN_VALUE / 2;

  /** The kind of requests that the next survey begins with. */
  private int offset;

  /** Reads all nodes as they are for a pod; completes on the loop. */
  @FunctionalInterface
  public interface Nodes {
    Future<List<NodeSnapshot>> of(PodFacts pod);
  }

  /** What one evaluation of all nodes serves. */
  private record Shape(
      String resource, List<Demand.Request> requests, Map<String, String> annotations) {}

  /** What decides the cause beside the shape. */
  private record Condition(
      SchedulerVerdict verdict, @Nullable String nominated, Optional<Set<Reason>> decided) {}

  private record Answer(PodFacts pod, WaitCause cause, Refusals refused) {}

  /**
   * What a survey found.
   *
   * @param next the kind of requests that the next survey begins with
   */
  public record Found(List<Answer> answers, int next) {}

  /**
   * @param worker runs work aside, and completes on the loop
   * @param ready whether nodes and pods are known
   */
  public WaitSurvey(
      Ledger ledger,
      NodeEvaluator evaluator,
      Explanations explanations,
      WaitEvents events,
      Nodes nodes,
      Function<Supplier<Found>, Future<Found>> worker,
      BooleanSupplier ready,
      LongSupplier clockMs) {
    this.ledger = ledger;
    this.evaluator = evaluator;
    this.explanations = explanations;
    this.events = events;
    this.nodes = nodes;
    this.worker = worker;
    this.ready = ready;
    this.clockMs = clockMs;
  }

  @Override
  public void tick() {
    long nowMs = clockMs.getAsLong();
    if (running || nowMs - lastMs < EVERY_MS || !ready.getAsBoolean()) {
      return;
    }
    lastMs = nowMs;
    List<PodFacts> waiting = waiting();
    if (waiting.isEmpty()) {
      return;
    }
    running = true;
    int from = offset;
    nodes
        .of(waiting.getFirst())
        .compose(all -> worker.apply(() -> evaluate(waiting, from, all)))
        .onComplete(
            done -> {
              running = false;
              if (done.succeeded()) {
                offset = done.result().next();
                done.result().answers().forEach(this::tell);
              }
            });
  }

  /** Returns the pods that wait. */
  private List<PodFacts> waiting() {
    var waiting = new ArrayList<PodFacts>();
    Set<String> uids = new HashSet<>();
    if (ledger.podsPending()) {
      for (PodFacts pod : ledger.pods()) {
        if (waits(pod)) {
          uids.add(pod.uid());
          waiting.add(pod);
        }
      }
    }
    events.retain(uids);
    return waiting;
  }

  /** A pod for which others are evicted holds a GPU, and may lack something else. */
  private boolean waits(PodFacts pod) {
    return pod.node() == null
        && !pod.ended()
        && !pod.preemption().terminating()
        && (pod.preemption().nominatedNode() != null || ledger.hold(pod.uid()).isEmpty());
  }

  /** Evaluates the nodes once for each kind of requests; runs on a worker. */
  private Found evaluate(List<PodFacts> waiting, int from, List<NodeSnapshot> all) {
    long untilMs = clockMs.getAsLong() + WORK_MS_MAX;
    var byShape = new LinkedHashMap<Shape, List<PodFacts>>();
    for (PodFacts pod : waiting) {
      var shape = new Shape(pod.resource(), pod.requests(), pod.annotations());
      byShape.computeIfAbsent(shape, first -> new ArrayList<>()).add(pod);
    }
    List<List<PodFacts>> kinds = new ArrayList<>(byShape.values());
    Collections.rotate(kinds, -(from % kinds.size()));
    var answers = new ArrayList<Answer>();
    int done = 0;
    while (done < kinds.size() && (done == 0 || clockMs.getAsLong() < untilMs)) {
      List<PodFacts> pods = kinds.get(done++);
      PodFacts first = pods.getFirst();
      List<NodeFit> fits = evaluator.evaluate(first, all, evaluator.policyOf(first, false));
      var survey = Survey.of(fits);
      var refused = Refusals.of(fits.stream().filter(fit -> !fit.fits()).toList());
      Map<Condition, WaitCause> causes = new HashMap<>();
      for (PodFacts pod : pods) {
        Optional<Set<Reason>> decided = explanations.decided(pod);
        var condition = new Condition(pod.scheduler(), pod.preemption().nominatedNode(), decided);
        WaitCause cause =
            causes.computeIfAbsent(condition, any -> WaitCauses.of(pod, survey, decided));
        answers.add(new Answer(pod, explanations.found(pod, cause), refused));
      }
    }
    return new Found(answers, (from + done) % kinds.size());
  }

  /** Unless it was bound in the meantime. */
  private void tell(Answer answer) {
    if (ledger.pod(answer.pod().uid()).filter(this::waits).isPresent()) {
      explanations.tell(answer.pod(), answer.cause(), answer.refused());
    }
  }
}
