package dev.tranche.extender.readapi;

import dev.tranche.extender.readapi.Answers.Answer;
import dev.tranche.extender.readapi.json.Json;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.readapi.table.KubernetesObjects;
import dev.tranche.extender.readapi.table.Output;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * Renders answers as text if the parameter {@code output} is set. Such requests come from kubectl,
 * which shows an error only if it is a Kubernetes {@code Status}.
 */
final class Rendering {
  private static final String OUTPUT = "output";

  private final Answers answers;

  Rendering(Answers answers) {
    this.answers = answers;
  }

  Future<Answer> of(Question question) {
    Route route = question.route();
    MultiMap parameters = question.parameters();
    List<String> requested = parameters.getAll(OUTPUT);
    if (!renders(route) || requested.isEmpty()) {
      return answers.of(question, format(question));
    }
    Optional<Output> output =
        requested.size() == 1 ? Output.of(requested.getFirst()) : Optional.empty();
    if (output.isEmpty()) {
      var invalid =
          new Problem.Invalid(
              OUTPUT, String.join(", ", requested), "one of " + String.join(", ", Output.NAMES));
      return Future.succeededFuture(new Answer.Refused(Problem.badRequest(invalid)));
    }
    var others = MultiMap.caseInsensitiveMultiMap().addAll(parameters).remove(OUTPUT);
    return answers.of(
        question.with(others), answer -> Buffer.buffer(output.get().of(answer, Instant.now())));
  }

  private static Answers.Format format(Question question) {
    if (question.forKubectl()) {
      return answer -> KubernetesObjects.table(answer, Instant.now());
    }
    return question.route().view().namespace().isPresent()
        ? KubernetesObjects::object
        : Json::buffer;
  }

  /** Whether {@code kubectl get} asks for a list of one namespace, to show it. */
  static boolean forKubectl(HttpServerRequest request, Route route) {
    String accepted = request.getHeader(HttpHeaders.ACCEPT);
    return accepted != null
        && accepted.contains("as=Table")
        && accepted.contains("v=v1;")
        && route.view().namespace().isPresent()
        && (route.kind() == Route.Kind.GPUS || route.kind() == Route.Kind.PODS);
  }

  private static boolean renders(Route route) {
    return switch (route.kind()) {
      case SUMMARY, GPUS, PODS, POD, WHAT_IF, INVARIANTS -> true;
      case CHANGES, HISTORY, METRICS, OPENAPI -> false;
    };
  }

  /** Returns the output that a request asks for; empty if it names none or an unknown one. */
  static Optional<Output> requestedOutput(HttpServerRequest request) {
    try {
      boolean renders =
          Route.of(String.valueOf(request.path())).filter(Rendering::renders).isPresent();
      List<String> requested = request.params().getAll(OUTPUT);
      return renders && requested.size() == 1 ? Output.of(requested.getFirst()) : Optional.empty();
    } catch (IllegalArgumentException malformed) {
      return Optional.empty();
    }
  }
}
