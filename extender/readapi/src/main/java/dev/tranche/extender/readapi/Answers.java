package dev.tranche.extender.readapi;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.readapi.ReadApi.StoredPod;
import dev.tranche.extender.readapi.change.Changes;
import dev.tranche.extender.readapi.query.ListQuery;
import dev.tranche.extender.readapi.query.Parameters;
import dev.tranche.extender.readapi.query.Parameters.Field;
import dev.tranche.extender.readapi.query.Parameters.Parsed;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.readapi.row.Explain;
import dev.tranche.extender.readapi.row.Gpu;
import dev.tranche.extender.readapi.row.GpuList;
import dev.tranche.extender.readapi.row.InvariantList;
import dev.tranche.extender.readapi.row.NamespaceSummary;
import dev.tranche.extender.readapi.row.Pod;
import dev.tranche.extender.readapi.row.PodList;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.Summary;
import dev.tranche.extender.readapi.row.View;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.extender.readapi.row.WasteList;
import dev.tranche.extender.snapshot.NodeSnapshot;
import dev.tranche.process.TokenBucket;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import io.vertx.core.WorkerExecutor;
import io.vertx.core.buffer.Buffer;
import java.lang.ref.SoftReference;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Answers requests by route. The extender's loop only provides what it knows, at most about once a
 * second for all lists; workers do the rest.
 */
final class Answers {
  /** A limit, since the loop may look at every node for a pod that is not bound. */
  static final int EXPLANATIONS_PER_SECOND_MAX = 10;

  private static final Pattern NAME = Pattern.compile("[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?");

  private static final String RESOURCE_VERSION = "resourceVersion";

  private final Vertx vertx;

  /** One thread: readers of changes wait for each other, and for nobody else's worker. */
  private final WorkerExecutor readers;

  private final ReadApi.Sources sources;
  private final WaitingReasons reasons;
  private final Histories histories;
  private final InvariantSampler invariants;
  private final WhatIfAnswers whatIfs;
  private final PodMetrics podMetrics = new PodMetrics();
  private final TokenBucket explanationRate;
  private SoftReference<@Nullable Snapshot> latest = new SoftReference<>(null);
  private SoftReference<@Nullable Changes> changes = new SoftReference<>(null);

  sealed interface Answer {
    /** Is written as the request asks for it. */
    record Found(Record answer) implements Answer {}

    /**
     * @param compressed by gzip
     */
    record Written(Buffer body, boolean compressed) implements Answer {}

    record Refused(Problem problem) implements Answer {}

    static Future<Answer> refused(Problem problem) {
      return Future.succeededFuture(new Refused(problem));
    }

    /** Answers with what was read of a request, or with what is wrong with it. */
    static <T> Future<Answer> of(Parsed<T> parsed, Function<T, Future<Answer>> answer) {
      return switch (parsed) {
        case Parsed.Refused<T>(var problem) -> refused(problem);
        case Parsed.Valid<T>(var value) -> answer.apply(value);
      };
    }
  }

  Answers(
      Vertx vertx,
      ReadApi.Sources sources,
      WaitingReasons reasons,
      Histories histories,
      InvariantSampler invariants) {
    this.vertx = vertx;
    this.readers = vertx.createSharedWorkerExecutor("changes", 1);
    this.sources = sources;
    this.reasons = reasons;
    this.histories = histories;
    this.invariants = invariants;
    this.whatIfs = new WhatIfAnswers(vertx, sources);
    this.explanationRate =
        new TokenBucket(
            EXPLANATIONS_PER_SECOND_MAX, EXPLANATIONS_PER_SECOND_MAX, sources.core().clockMs);
  }

  PodMetrics podMetrics() {
    return podMetrics;
  }

  Future<Answer> of(Question question) {
    Route route = question.route();
    MultiMap parameters = question.parameters();
    View view = route.view();
    return switch (route.kind()) {
      case SUMMARY ->
          view.namespace().isPresent()
              ? withoutParameters(
                  parameters,
                  () ->
                      ofSnapshot(now -> NamespaceSummary.of(now, reasons, view.namespace().get())))
              : list(List.of(), parameters, (now, query) -> Summary.of(now, reasons, query));
      case GPUS ->
          list(fields(Gpu.FIELDS, view), parameters, (now, query) -> GpuList.of(now, view, query));
      case PODS ->
          list(
              fields(Pod.FIELDS, view),
              parameters,
              (now, query) -> PodList.of(now, reasons, view, query));
      case POD -> withoutParameters(parameters, () -> pod(route));
      case CHANGES -> changes(parameters);
      case HISTORY -> whenReady(() -> history(view, parameters));
      case WHAT_IF -> whenReady(() -> whatIfs.of(view, parameters, question.body()));
      case INVARIANTS -> withoutParameters(parameters, () -> whenReady(this::invariants));
      case WASTE -> waste(parameters);
      case METRICS ->
          withoutParameters(
              parameters,
              () ->
                  whenReady(() -> onWorker(now -> new Answer.Written(podMetrics.of(now), false))));
      case OPENAPI ->
          withoutParameters(
              parameters,
              () ->
                  vertx.executeBlocking(
                      () -> new Answer.Written(OpenApiDocument.JSON, false), false));
    };
  }

  /** The path names the namespace. */
  private static List<Field> fields(List<Field> all, View view) {
    return view.namespace().isEmpty()
        ? all
        : all.stream().filter(field -> !field.name().equals("namespace")).toList();
  }

  /** Writes what is known, once that is complete. */
  private Future<Answer> ofSnapshot(Function<Snapshot, Record> answer) {
    return whenReady(() -> onWorker(now -> new Answer.Found(answer.apply(now))));
  }

  private Future<Answer> changes(MultiMap parameters) {
    return Answer.of(
        Parameters.read(parameters, List.of(Field.any(RESOURCE_VERSION))),
        values -> whenReady(() -> changesAfter(values.getOrDefault(RESOURCE_VERSION, ""))));
  }

  private Future<Answer> changesAfter(String known) {
    return withSnapshot(
        now -> new Answer.Written(changes().after(known, now, sources.core().nowMs()), true),
        task -> readers.executeBlocking(task, false));
  }

  /** While nobody reads, its memory may be used for something else. */
  private synchronized Changes changes() {
    Changes known = changes.get();
    if (known == null) {
      known = new Changes(reasons, sources.clusterName());
      changes = new SoftReference<>(known);
    }
    return known;
  }

  private Future<Answer> history(View view, MultiMap parameters) {
    return view.namespace().isEmpty()
        ? histories.of(parameters, uuid -> true)
        : onWorker(now -> now.gpusOf(view))
            .compose(held -> histories.of(parameters, held::contains));
  }

  private Future<Answer> list(
      List<Field> fields, MultiMap parameters, BiFunction<Snapshot, ListQuery, Record> answer) {
    return Answer.of(
        ListQuery.parse(parameters, fields), query -> ofSnapshot(now -> answer.apply(now, query)));
  }

  private Future<Answer> pod(Route route) {
    String namespace = route.namespace();
    String name = route.name();
    if (!NAME.matcher(namespace).matches() || !NAME.matcher(name).matches()) {
      return Answer.refused(
          Problem.badRequest(
              new Problem.Invalid(
                  "namespace/name",
                  namespace + "/" + name,
                  "names of Kubernetes: lower case letters, digits, dashes and dots")));
    }
    if (!explanationRate.tryAcquire()) {
      return Answer.refused(Problem.tooMany(EXPLANATIONS_PER_SECOND_MAX, "explanations"));
    }
    String key = namespace + "/" + name;
    return whenReady(
        () ->
            sources
                .loop()
                .submit(() -> sources.explain().of(key))
                .compose(
                    plan ->
                        plan.isEmpty()
                            ? sources.pods().apply(key).compose(pod -> unknownPod(key, pod))
                            : explained(key, plan.get(), route.view())));
  }

  private Future<Answer> waste(MultiMap parameters) {
    return Answer.of(
        Parameters.read(parameters, List.of(Field.text("namespace"))),
        values -> ofSnapshot(now -> WasteList.of(now, values.get("namespace"))));
  }

  private Future<Answer> invariants() {
    return invariants
        .latest()
        .map(
            round ->
                round.isEmpty()
                    ? new Answer.Refused(
                        Problem.unavailable("nothing was judged yet; retry in a minute"))
                    : new Answer.Found(
                        InvariantList.of(round.get(), Instant.now(), sources.core().nowMs())));
  }

  private Future<Answer> explained(String key, Explain.Plan plan, View view) {
    // kube-scheduler may have excluded nodes before it called the extender.
    Future<Optional<StoredPod>> stored =
        plan.evaluated() ? sources.pods().apply(key) : Future.succeededFuture(Optional.empty());
    Future<List<NodeSnapshot>> nodes =
        plan.evaluated()
            ? sources.explain().nodes(plan.pod(), sources.loop())
            : Future.succeededFuture(List.of());
    return Future.all(stored, nodes)
        .map(
            all ->
                new Explain.Known(
                    stored.result().map(pod -> sources.core().traits.filter(pod.selection())),
                    nodes.result(),
                    stored.result().flatMap(StoredPod::schedulerMessage)))
        .compose(
            known ->
                onWorker(
                    now -> new Answer.Found(sources.explain().answer(plan, known, now, view))));
  }

  /** On a worker, since its owner may write many annotations. */
  private Future<Answer> unknownPod(String key, Optional<StoredPod> pod) {
    return vertx
        .executeBlocking(
            () -> {
              String sentence =
                  pod.map(stored -> "is not Tranche's: " + stored.leftAlone().get())
                      .orElse("is not known: it was deleted, never existed, or requests no GPU");
              return new Answer.Refused(Problem.notFound("pod %s %s".formatted(key, sentence)));
            },
            false)
        .map(Objects::requireNonNull);
  }

  private static Future<Answer> withoutParameters(
      MultiMap parameters, Supplier<Future<Answer>> answer) {
    return Answer.of(Parameters.read(parameters, List.of()), none -> answer.get());
  }

  /** Answers only when the state is complete: an empty list would say that there is nothing. */
  private Future<Answer> whenReady(Supplier<Future<Answer>> answer) {
    return sources
        .loop()
        .submit(sources.notReady())
        .compose(
            missing ->
                missing.isPresent()
                    ? Answer.refused(Problem.unavailable(missing.get()))
                    : answer.get());
  }

  private <T> Future<T> onWorker(Function<Snapshot, T> work) {
    return withSnapshot(work, task -> vertx.executeBlocking(task, false));
  }

  private <T> Future<T> withSnapshot(
      Function<Snapshot, T> work, Function<Callable<T>, Future<T>> worker) {
    return sources
        .inspections()
        .latest()
        .compose(now -> worker.apply(() -> work.apply(snapshot(now))));
  }

  /**
   * Runs on a worker. All requests share one snapshot: for a large cluster it has tens of
   * megabytes.
   */
  @SuppressWarnings("ReferenceEquality")
  private synchronized Snapshot snapshot(Inspection inspection) {
    Snapshot known = latest.get();
    if (known != null && known.inspection == inspection) {
      return known;
    }
    Snapshot made = known == null ? Snapshot.of(inspection) : Snapshot.of(inspection, known);
    latest = new SoftReference<>(made);
    return made;
  }
}
