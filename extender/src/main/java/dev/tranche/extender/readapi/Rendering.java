package dev.tranche.extender.readapi;

import dev.tranche.extender.readapi.Answers.Answer;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.readapi.table.Output;
import dev.tranche.extender.readapi.table.Text;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * Renders answers as text if the parameter {@code output} is set. Such requests come from kubectl,
 * which shows an error only if it is a Kubernetes {@code Status}.
 */
final class Rendering {
  private static final String OUTPUT = "output";

  private final Vertx vertx;
  private final Endpoint.Answering answers;

  /**
   * @param answers in JSON
   */
  Rendering(Vertx vertx, Endpoint.Answering answers) {
    this.vertx = vertx;
    this.answers = answers;
  }

  Future<Answer> of(Route route, MultiMap parameters, Buffer body) {
    List<String> requested = parameters.getAll(OUTPUT);
    Optional<Text> text = text(route);
    if (text.isEmpty() || requested.isEmpty()) {
      return answers.of(route, parameters, body);
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
    return answers
        .of(route, others, body)
        .compose(
            answer ->
                vertx.executeBlocking(() -> rendered(answer, text.get(), output.get()), false));
  }

  private static Optional<Text> text(Route route) {
    return switch (route.kind()) {
      case SUMMARY -> Optional.of(Text.NODES);
      case GPUS -> Optional.of(Text.GPUS);
      case PODS -> Optional.of(Text.PODS);
      case POD -> Optional.of(Text.POD);
      case WHAT_IF -> Optional.of(Text.WHAT_IF);
      default -> Optional.empty();
    };
  }

  private static Answer rendered(Answer answer, Text text, Output output) {
    return switch (answer) {
      case Answer.Found(Buffer json) ->
          new Answer.Found(Buffer.buffer(text.of(new JsonObject(json), output, Instant.now())));
      case Answer.Refused refused -> refused;
    };
  }

  /** Returns the output that a request asks for; empty if it names none or an unknown one. */
  static Optional<Output> requestedOutput(HttpServerRequest request) {
    try {
      boolean renders =
          Route.of(String.valueOf(request.path())).flatMap(Rendering::text).isPresent();
      List<String> requested = request.params().getAll(OUTPUT);
      return renders && requested.size() == 1 ? Output.of(requested.getFirst()) : Optional.empty();
    } catch (IllegalArgumentException malformed) {
      return Optional.empty();
    }
  }
}
