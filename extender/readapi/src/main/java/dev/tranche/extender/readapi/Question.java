package dev.tranche.extender.readapi;

import static java.util.stream.Collectors.joining;

import dev.tranche.extender.readapi.json.Json;
import dev.tranche.extender.readapi.query.Parameters.Parsed;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.readapi.table.KubernetesObjects;
import dev.tranche.extender.readapi.table.Output;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What an admitted request asks.
 *
 * @param parameters without {@code output}
 * @param body empty unless the request is a POST
 * @param output the text that is asked for; empty for JSON as programs read it
 * @param forKubectl whether the answer is a Table of Kubernetes, as {@code kubectl get} shows it
 */
record Question(
    Route route, MultiMap parameters, Buffer body, Optional<Output> output, boolean forKubectl) {
  static final String OUTPUT = "output";

  static Parsed<Question> of(HttpServerRequest request, Route route, Buffer body) {
    var parameters = MultiMap.caseInsensitiveMultiMap();
    try {
      parameters.addAll(request.params());
    } catch (IllegalArgumentException malformed) {
      return new Parsed.Refused<>(
          Problem.badRequest("the query is malformed: % begins two hexadecimal digits"));
    }
    List<Output> allowed = route.outputs();
    List<String> requested = allowed.isEmpty() ? List.of() : parameters.getAll(OUTPUT);
    Optional<Output> output =
        requested.size() == 1
            ? allowed.stream().filter(each -> requested.contains(each.toString())).findFirst()
            : Optional.empty();
    if (!requested.isEmpty() && output.isEmpty()) {
      String names = allowed.stream().map(Output::toString).collect(joining(", "));
      return Parsed.refused(OUTPUT, String.join(", ", requested), "one of " + names);
    }
    output.ifPresent(known -> parameters.remove(OUTPUT));
    return new Parsed.Valid<>(
        new Question(
            route,
            parameters,
            body,
            output,
            forKubectl(request.getHeader(HttpHeaders.ACCEPT), route)));
  }

  /** Whether {@code kubectl get} asks for a list of one namespace, to show it. */
  private static boolean forKubectl(@Nullable String accepted, Route route) {
    return accepted != null
        && accepted.contains("as=Table")
        && accepted.contains("v=v1;")
        && route.view().namespace().isPresent()
        && (route.kind() == Route.Kind.GPUS || route.kind() == Route.Kind.PODS);
  }

  /** Writes an answer as it is asked for. Runs on a worker. */
  Buffer write(Record answer) {
    if (output.isPresent()) {
      return Buffer.buffer(output.get().of(answer, Instant.now()));
    }
    if (forKubectl) {
      return KubernetesObjects.table(answer);
    }
    return route.view().namespace().isPresent()
        ? KubernetesObjects.object(answer)
        : Json.buffer(answer);
  }

  String mediaType() {
    return route.kind() == Route.Kind.METRICS
        ? PodMetrics.TYPE
        : output.map(text -> text.mediaType).orElse("application/json");
  }
}
