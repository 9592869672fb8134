package dev.tranche.extender.readapi;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.http.InspectionCache;
import dev.tranche.extender.readapi.query.ListQuery;
import dev.tranche.extender.readapi.query.ListQuery.Field;
import dev.tranche.extender.readapi.query.ListQuery.Parsed;
import dev.tranche.extender.readapi.query.Page;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.readapi.row.Explain;
import dev.tranche.extender.readapi.row.ExplainJson;
import dev.tranche.extender.readapi.row.GpuJson;
import dev.tranche.extender.readapi.row.PodJson;
import dev.tranche.extender.readapi.row.PodState;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.Snapshot.PodRow;
import dev.tranche.extender.readapi.row.SummaryJson;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.ref.SoftReference;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.LongSupplier;
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

  private final Vertx vertx;
  private final Supplier<Loop> loop;
  private final InspectionCache inspections;
  private final Supplier<Optional<String>> notReady;
  private final Explain explain;
  private final Function<String, Future<Optional<String>>> schedulerMessages;
  private final Function<String, Future<Optional<NodeFilter>>> filters;
  private final WhatIfAnswers whatIfs;
  private final HistoryAnswers histories;
  private final LongSupplier clockMs;
  private final PodJson pods;
  private final SummaryJson summary;
  private final Buffer document = document();
  private final RateLimit explanations = new RateLimit(EXPLANATIONS_PER_SECOND_MAX);
  private SoftReference<@Nullable Snapshot> latest = new SoftReference<>(null);

  sealed interface Answer {
    record Found(Buffer json) implements Answer {}

    record Refused(Problem problem) implements Answer {}
  }

  /**
   * @param notReady what is not known yet, as a sentence; empty when ready; called on the loop
   * @param schedulerMessages why kube-scheduler has not placed a pod, by {@code namespace/name}
   * @param filters which nodes a pod excludes, by {@code namespace/name}; empty where the API
   *     server does not say
   */
  Answers(
      Vertx vertx,
      Supplier<Loop> loop,
      InspectionCache inspections,
      Supplier<Optional<String>> notReady,
      Explain explain,
      WaitingReasons reasons,
      Function<String, Future<Optional<String>>> schedulerMessages,
      Function<String, Future<Optional<NodeFilter>>> filters,
      WhatIfAnswers whatIfs,
      HistoryAnswers histories,
      LongSupplier clockMs) {
    this.vertx = vertx;
    this.loop = loop;
    this.inspections = inspections;
    this.notReady = notReady;
    this.explain = explain;
    this.schedulerMessages = schedulerMessages;
    this.filters = filters;
    this.whatIfs = whatIfs;
    this.histories = histories;
    this.clockMs = clockMs;
    this.pods = new PodJson(reasons);
    this.summary = new SummaryJson(reasons);
  }

  private static Buffer document() {
    try (InputStream in = Answers.class.getResourceAsStream("openapi.json")) {
      return Buffer.buffer(Objects.requireNonNull(in, "openapi.json").readAllBytes());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  Future<Answer> of(Route route, MultiMap parameters, Buffer body) {
    Instant now = Instant.now();
    return switch (route.kind()) {
      case SUMMARY ->
          list(List.of(), parameters, (snapshot, query) -> summary.of(snapshot, query, now));
      case GPUS ->
          list(GpuJson.FIELDS, parameters, (snapshot, query) -> gpus(snapshot, query, now));
      case PODS ->
          list(PodJson.FIELDS, parameters, (snapshot, query) -> pods(snapshot, query, now));
      case POD -> pod(route.namespace(), route.name(), parameters);
      // An empty answer lets the endpoint begin the stream, which never ends.
      case STREAM ->
          unknownParameter(parameters)
              .map(Future::succeededFuture)
              .orElseGet(
                  () -> whenReady(() -> Future.succeededFuture(new Answer.Found(Buffer.buffer()))));
      case HISTORY -> whenReady(() -> histories.of(parameters));
      case WHAT_IF -> whenReady(() -> whatIfs.of(parameters, body));
      case OPENAPI ->
          Future.succeededFuture(
              unknownParameter(parameters).orElseGet(() -> new Answer.Found(document)));
    };
  }

  private Future<Answer> list(
      List<Field> fields, MultiMap parameters, BiFunction<Snapshot, ListQuery, JsonObject> answer) {
    return switch (ListQuery.parse(parameters, fields, Instant.now())) {
      case Parsed.Refused(Problem problem) -> refused(problem);
      case Parsed.Valid(ListQuery query) ->
          whenReady(
              () ->
                  onWorker(
                      inspection ->
                          new Answer.Found(answer.apply(snapshot(inspection), query).toBuffer())));
    };
  }

  private static JsonObject gpus(Snapshot snapshot, ListQuery query, Instant now) {
    Instant at = snapshot.inspection.at();
    return new JsonObject()
        .put("time", at.toString())
        .mergeIn(
            Page.of(
                "items",
                snapshot.gpus,
                Snapshot.GpuRow::key,
                row -> GpuJson.admitted(row, query),
                GpuJson::of,
                query,
                now));
  }

  private JsonObject pods(Snapshot snapshot, ListQuery query, Instant now) {
    return new JsonObject()
        .put("time", snapshot.inspection.at().toString())
        .mergeIn(
            Page.of(
                "items",
                snapshot.pods,
                PodRow::key,
                row -> PodJson.admitted(row, query),
                pods::of,
                query,
                now));
  }

  private Future<Answer> pod(String namespace, String name, MultiMap parameters) {
    Optional<Answer> unknown = unknownParameter(parameters);
    if (unknown.isPresent()) {
      return Future.succeededFuture(unknown.get());
    }
    if (!NAME.matcher(namespace).matches() || !NAME.matcher(name).matches()) {
      return refused(
          Problem.badRequest(
              new Problem.Invalid(
                  "namespace/name",
                  namespace + "/" + name,
                  "names of Kubernetes: lower case letters, digits, dashes and dots")));
    }
    if (!explanations.tryAcquire(clockMs.getAsLong())) {
      return refused(
          Problem.tooMany(
              "%d pods a second are explained; ask again in a second"
                  .formatted(EXPLANATIONS_PER_SECOND_MAX)));
    }
    String key = namespace + "/" + name;
    return whenReady(
        () ->
            loop.get()
                .submit(() -> explain.of(key))
                .compose(
                    plan ->
                        plan.isEmpty() ? refused(unknownPod(key)) : explained(key, plan.get())));
  }

  private Future<Answer> explained(String key, Explain.Plan plan) {
    return plan.filter(key, filters).compose(by -> explained(key, plan, by));
  }

  private Future<Answer> explained(String key, Explain.Plan plan, Optional<NodeFilter> filter) {
    return onWorker(
            inspection -> {
              JsonObject explained = plan.answer().apply(filter);
              Optional<JsonObject> row =
                  snapshot(inspection).pods.stream()
                      .filter(each -> each.pod().uid().equals(explained.getString("uid")))
                      .findFirst()
                      .map(pods::of);
              return new Explained(explained, row);
            })
        .compose(
            found ->
                message(found.json(), key)
                    .compose(message -> vertx.executeBlocking(() -> found.answer(message), false)));
  }

  private record Explained(JsonObject json, Optional<JsonObject> row) {
    Answer answer(Optional<String> schedulerMessage) {
      return new Answer.Found(ExplainJson.of(json, row, schedulerMessage).toBuffer());
    }
  }

  /** Returns kube-scheduler's message: it may have excluded nodes before it called the extender. */
  private Future<Optional<String>> message(JsonObject explained, String key) {
    return PodState.WAITING.toString().equals(explained.getString("state"))
        ? schedulerMessages.apply(key)
        : Future.succeededFuture(Optional.empty());
  }

  private static Problem unknownPod(String key) {
    return Problem.of(
        404,
        "Not found",
        "nothing is known of pod %s: it asks for no GPU, does not exist, or was never filtered here"
            .formatted(key));
  }

  private static Optional<Answer> unknownParameter(MultiMap parameters) {
    return parameters.entries().stream()
        .findFirst()
        .map(p -> new Problem.Invalid(p.getKey(), p.getValue(), "no parameters"))
        .map(invalid -> new Answer.Refused(Problem.badRequest(invalid)));
  }

  /** Answers only when the state is complete: an empty list would say that there is nothing. */
  private Future<Answer> whenReady(Supplier<Future<Answer>> answer) {
    return loop.get()
        .submit(notReady)
        .compose(
            missing ->
                missing.isPresent() ? refused(Problem.unavailable(missing.get())) : answer.get());
  }

  private <T> Future<T> onWorker(Function<Inspection, T> work) {
    return inspections.latest().compose(now -> vertx.executeBlocking(() -> work.apply(now), false));
  }

  /**
   * Runs on a worker. All requests share one snapshot: for a large cluster it has tens of
   * megabytes.
   */
  @SuppressWarnings("ReferenceEquality")
  synchronized Snapshot snapshot(Inspection inspection) {
    Snapshot known = latest.get();
    if (known != null && known.inspection == inspection) {
      return known;
    }
    Snapshot made = known == null ? Snapshot.of(inspection) : Snapshot.of(inspection, known);
    latest = new SoftReference<>(made);
    return made;
  }

  private static Future<Answer> refused(Problem problem) {
    return Future.succeededFuture(new Answer.Refused(problem));
  }
}
