package dev.tranche.extender.controller;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toList;
import static java.util.stream.Collectors.toSet;

import dev.tranche.api.Demand;
import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.FitErrorText;
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
import dev.tranche.process.meters.Failures;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Finds out every few seconds why each pending pod waits, also where kube-scheduler has refused it
 * without a call of the extender. The loop reads nodes in short turns, and a worker evaluates them,
 * once for all pods with equal requests and an equal view of the nodes. What takes long is done in
 * parts, and the next survey begins later. Confined to the loop but for {@link #evaluate}.
 */
public final class WaitSurvey implements Controller {
  static final long EVERY_MS = 3_000;

  /** The pause after a survey is at least so many times as long as the survey took. */
  private static final int PAUSE = 9;

  /** The work of one part on a worker, which evaluates at least one kind of requests. */
  static final long WORK_MS_MAX = 300;

  /** The work of one turn of the loop that passes on what was found. */
  static final long TURN_MS_MAX = 5;

  private static final String TASK = "survey of why pods wait";

  private final Ledger ledger;
  private final NodeEvaluator evaluator;
  private final Explanations explanations;
  private final ControllerContext context;
  private final Turns turns;
  private final List<Listener> listeners;
  private final Failures failures;
  private boolean running;
  private long nextMs;

  /** Is told why pods wait, on the loop. */
  @FunctionalInterface
  public interface Listener {
    /**
     * Called each time that it is found out.
     *
     * @param figures of the nodes that came nearest to fitting
     */
    void waits(PodFacts pod, WaitCause cause, String figures);

    /** Only these pods wait still, by uid. */
    default void retain(Set<String> waiting) {}
  }

  /** Where the work is done; futures complete on the loop. */
  public interface Turns {
    /** Reads all nodes as they are for a pod. */
    Future<List<NodeSnapshot>> nodes(PodFacts pod);

    /** Runs work on a worker. */
    <T> Future<T> aside(Callable<T> work);

    /** Runs a task on the loop after what waits there. */
    void later(Runnable task);
  }

  /**
   * What decides how a pod sees the nodes. A nominated pod's hold counts against pods of equal or
   * lower priority only, and no pod's own hold counts against it.
   *
   * @param holder the pod's uid if it has a hold, otherwise empty
   */
  private record View(String resource, int priority, String holder) {}

  /** What one evaluation of all nodes serves, for pods with the same view. */
  private record Shape(List<Demand.Request> requests, Map<String, String> annotations) {}

  /** What decides the cause beside the shape. */
  private record Condition(
      SchedulerVerdict verdict, @Nullable String nominated, Optional<Set<Reason>> decided) {}

  private record Answer(PodFacts pod, WaitCause cause, String figures) {}

  public WaitSurvey(ControllerContext context, Turns turns, List<Listener> listeners) {
    this.context = context;
    this.ledger = context.core().ledger;
    this.evaluator = context.core().evaluator;
    this.explanations = context.core().explanations;
    this.failures = context.metrics().failures;
    this.turns = turns;
    this.listeners = listeners;
  }

  @Override
  public void tick() {
    long startMs = context.nowMs();
    if (running || startMs < nextMs || context.readiness().notReady().isPresent()) {
      return;
    }
    Collection<List<PodFacts>> views = views().values();
    running = true;
    Future<?> done = Future.succeededFuture();
    for (List<PodFacts> pods : views) {
      done = done.transform(before -> survey(pods));
    }
    done.onComplete(
        any -> {
          long nowMs = context.nowMs();
          nextMs = nowMs + Math.max(EVERY_MS, PAUSE * (nowMs - startMs));
          running = false;
        });
  }

  /**
   * Surveys one view. A failure ends only that.
   *
   * @param pods with the same view of the nodes
   */
  private Future<?> survey(List<PodFacts> pods) {
    return turns
        .aside(() -> kinds(pods).iterator())
        .compose(kinds -> survey(pods.getFirst(), kinds))
        .onFailure(failure -> failures.failed(Failures.TASK, TASK, failure));
  }

  /**
   * Surveys some kinds of requests, and then those that are left, by the nodes as they are then.
   */
  private Future<?> survey(PodFacts first, Iterator<List<PodFacts>> kinds) {
    return turns
        .nodes(first)
        .compose(all -> turns.aside(() -> evaluate(kinds, all)))
        .compose(answers -> tell(answers.iterator()))
        .compose(told -> kinds.hasNext() ? survey(first, kinds) : Future.succeededFuture());
  }

  /** Passes on the answers, in as many turns as it takes. */
  private Future<Void> tell(Iterator<Answer> answers) {
    long endMs = context.nowMs() + TURN_MS_MAX;
    boolean first = true;
    while (answers.hasNext() && (first || context.nowMs() < endMs)) {
      Answer answer = answers.next();
      failures.task(TASK, () -> tell(answer));
      first = false;
    }
    if (!answers.hasNext()) {
      return Future.succeededFuture();
    }
    Promise<Void> rest = Promise.promise();
    turns.later(() -> tell(answers).onComplete(rest));
    return rest.future();
  }

  /** Returns the pods that wait, by their view of the nodes. */
  private Map<View, List<PodFacts>> views() {
    List<PodFacts> waiting =
        ledger.podsPending() ? ledger.pods().stream().filter(this::waits).toList() : List.of();
    Set<String> uids = waiting.stream().map(PodFacts::uid).collect(toSet());
    listeners.forEach(each -> each.retain(uids));
    return waiting.stream().collect(groupingBy(this::view, LinkedHashMap::new, toList()));
  }

  private View view(PodFacts pod) {
    int priority = ledger.nominatedPods().isEmpty() ? 0 : pod.preemption().priority();
    return new View(pod.resource(), priority, ledger.hold(pod.uid()).isEmpty() ? "" : pod.uid());
  }

  /** A pod for which others are evicted holds a GPU, and may lack something else. */
  private boolean waits(PodFacts pod) {
    return pod.isPending()
        && !pod.preemption().terminating()
        && (pod.preemption().nominatedNode() != null || ledger.hold(pod.uid()).isEmpty());
  }

  /** Returns the pods by their kind of requests. */
  private static Collection<List<PodFacts>> kinds(List<PodFacts> pods) {
    Function<PodFacts, Shape> shape = pod -> new Shape(pod.requests(), pod.annotations());
    return pods.stream().collect(groupingBy(shape, LinkedHashMap::new, toList())).values();
  }

  /** Evaluates the nodes once for each kind of requests; runs on a worker. */
  private List<Answer> evaluate(Iterator<List<PodFacts>> kinds, List<NodeSnapshot> all) {
    long endMs = context.nowMs() + WORK_MS_MAX;
    var answers = new ArrayList<Answer>();
    do {
      List<PodFacts> equal = kinds.next();
      failures.task(TASK, () -> answers.addAll(answers(equal, all)));
    } while (kinds.hasNext() && context.nowMs() < endMs);
    return answers;
  }

  private List<Answer> answers(List<PodFacts> pods, List<NodeSnapshot> all) {
    PodFacts first = pods.getFirst();
    List<NodeFit> fits = evaluator.evaluate(first, all, evaluator.policyOf(first, false));
    var survey = Survey.of(fits);
    // Once for equal pods.
    String figures = FitErrorText.figures(Refusals.of(fits));
    Map<Condition, WaitCause> causes = new HashMap<>();
    var answers = new ArrayList<Answer>();
    for (PodFacts pod : pods) {
      Optional<Set<Reason>> decided = explanations.decided(pod);
      var condition = new Condition(pod.scheduler(), pod.preemption().nominatedNode(), decided);
      WaitCause cause =
          causes.computeIfAbsent(condition, any -> WaitCauses.of(pod, survey, decided));
      answers.add(new Answer(pod, explanations.found(pod, cause), figures));
    }
    return answers;
  }

  /** Unless it was bound in the meantime. */
  private void tell(Answer answer) {
    if (ledger.pod(answer.pod().uid()).filter(this::waits).isPresent()) {
      listeners.forEach(each -> each.waits(answer.pod(), answer.cause(), answer.figures()));
    }
  }
}
