package dev.tranche.extender.readapi;

import dev.tranche.extender.readapi.Answers.Answer;
import dev.tranche.extender.readapi.access.Access;
import dev.tranche.extender.readapi.json.Json;
import dev.tranche.extender.readapi.query.Parameters.Parsed;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers the requests of one port: at most {@link #AT_ONCE_MAX} at once, each within a time limit.
 */
final class Endpoint implements Handler<HttpServerRequest> {
  /** Enough for a web page, a dashboard and some people; each answer is small. */
  static final int AT_ONCE_MAX = 8;

  /** Maximum size of a posted Pod; by default etcd stores no object above 1.5 MiB. */
  static final int BODY_BYTES_MAX = 2 << 20;

  /** Maximum of the posted bytes that are kept at once; four of the largest bodies. */
  static final int BODIES_BYTES_MAX = 8 << 20;

  private static final String JSON = "application/json";
  private static final Logger LOG = LoggerFactory.getLogger(Endpoint.class);

  private final Vertx vertx;
  private final Function<Question, Future<Answer>> answers;
  private final Guard guard;
  private final long answeredMsMax;
  private final ReadApiMetrics metrics;
  private final WebPage page = WebPage.load();
  private final Semaphore places = new Semaphore(AT_ONCE_MAX);
  private final Semaphore bodyBytes = new Semaphore(BODIES_BYTES_MAX);

  /** Decides whether a request may pass; an empty result admits it. */
  @FunctionalInterface
  interface Guard {
    Future<Optional<Problem>> refusal(HttpServerRequest request, Route route);
  }

  /**
   * @param answers makes the answer once the guard has admitted the request; on any thread
   * @param answeredMsMax time limit from a request's head to the end of its answer
   */
  Endpoint(
      Vertx vertx,
      Function<Question, Future<Answer>> answers,
      Guard guard,
      long answeredMsMax,
      ReadApiMetrics metrics) {
    this.vertx = vertx;
    this.answers = answers;
    this.guard = guard;
    this.answeredMsMax = answeredMsMax;
    this.metrics = metrics;
  }

  int inFlight() {
    return AT_ONCE_MAX - places.availablePermits();
  }

  @Override
  public void handle(HttpServerRequest request) {
    if (page.tryAnswer(request)) {
      return;
    }
    Optional<Route> route = Route.of(String.valueOf(request.path()));
    if (route.isEmpty()) {
      refuse(
          request,
          Problem.notFound(
              "there are /api/v1/summary, /api/v1/gpus, /api/v1/pods,"
                  + " /api/v1/pods/{namespace}/{name}, /api/v1/history, /api/v1/changes,"
                  + " /api/v1/what-if, /api/v1/invariants, /api/v1/waste, /api/v1/openapi.json and"
                  + " /metrics; and of one namespace, under "
                  + Access.NAMESPACES
                  + "/{namespace}, /summary, /gpus, /pods, /pods/{name}, /history and /what-if"));
    } else if (!route.get().method().equals(request.method())) {
      refuse(request, Problem.methodNotAllowed(route.get().method().name()));
    } else if (request.method().equals(HttpMethod.POST) && !isJson(request)) {
      refuse(request, Problem.notJson(String.valueOf(request.getHeader(HttpHeaders.CONTENT_TYPE))));
    } else {
      checkGuard(request, route.get());
    }
  }

  /**
   * kubectl sends no content type. Without a CORS preflight, a page of another origin cannot send
   * JSON.
   */
  private static boolean isJson(HttpServerRequest request) {
    String type = request.getHeader(HttpHeaders.CONTENT_TYPE);
    return type == null || type.split(";", 2)[0].strip().equalsIgnoreCase("application/json");
  }

  private void checkGuard(HttpServerRequest request, Route route) {
    // The guard answers later; until then no handler reads the body.
    request.pause();
    long deadline = vertx.setTimer(answeredMsMax, late -> timeOut(request));
    onLoop(guard.refusal(request, route))
        .onSuccess(refusal -> afterGuard(request, route, refusal.orElse(null), deadline))
        .onFailure(
            bug -> {
              vertx.cancelTimer(deadline);
              request.resume();
              var _ = failed(request, bug);
            });
  }

  private void afterGuard(
      HttpServerRequest request, Route route, @Nullable Problem refusal, long deadline) {
    if (refusal == null && !isOver(request.response())) {
      answerOnceRead(request, route, deadline);
      return;
    }
    request.resume();
    vertx.cancelTimer(deadline);
    if (refusal != null && !request.response().ended()) {
      refuse(request, refusal);
    }
  }

  /** Completes the result on the request's event loop. */
  private <T> Future<T> onLoop(Future<T> elsewhere) {
    return new Loop(vertx.getOrCreateContext()).completeOnLoop(elsewhere);
  }

  /** Only what has arrived as a whole takes a place: a body may be sent slowly, or never. */
  private void answerOnceRead(HttpServerRequest request, Route route, long deadline) {
    var body = new PostedBody(bodyBytes, BODY_BYTES_MAX);
    onLoop(body.read(request).timeout(answeredMsMax, TimeUnit.MILLISECONDS))
        .compose(
            read ->
                sendUnlessOver(
                    request,
                    () ->
                        switch (read) {
                          case PostedBody.Read.Whole(Buffer bytes) ->
                              answerWithPlace(request, route, bytes);
                          case PostedBody.Read.TooLarge() ->
                              send(request, Problem.tooLarge(BODY_BYTES_MAX));
                          case PostedBody.Read.NoRoom() ->
                              shed(request, "too many bodies are read");
                        }))
        .onComplete(
            done -> {
              body.release();
              if (isOver(request.response())) {
                vertx.cancelTimer(deadline);
              }
            });
  }

  private Future<Void> answerWithPlace(HttpServerRequest request, Route route, Buffer body) {
    if (route.kind() == Route.Kind.CHANGES) {
      // Open pages share the answer, so that many cost little more than one.
      return answerAndSend(request, route, body);
    }
    if (!places.tryAcquire()) {
      return shed(request, "%d requests are being answered".formatted(AT_ONCE_MAX));
    }
    // The place is kept until the work is done and nothing is left to send.
    return answerAndSend(request, route, body).onComplete(done -> places.release());
  }

  private Future<Void> answerAndSend(HttpServerRequest request, Route route, Buffer body) {
    return switch (Question.of(request, route, body)) {
      case Parsed.Refused(var problem) -> send(request, problem);
      case Parsed.Valid(var question) ->
          onLoop(Future.succeededFuture(question).compose(answers))
              .compose(answer -> sendUnlessOver(request, () -> send(request, question, answer)))
              .recover(bug -> sendUnlessOver(request, () -> failed(request, bug)));
    };
  }

  private static Future<Void> sendUnlessOver(
      HttpServerRequest request, Supplier<Future<Void>> sending) {
    return isOver(request.response()) ? Future.succeededFuture() : sending.get();
  }

  private static boolean isOver(HttpServerResponse response) {
    return response.ended() || response.closed();
  }

  private Future<Void> shed(HttpServerRequest request, String why) {
    metrics.shed.increment();
    return send(request, Problem.unavailable(why + "; retry in a second"));
  }

  private Future<Void> send(HttpServerRequest request, Question question, Answer answer) {
    HttpServerResponse response = request.response();
    return switch (answer) {
      case Answer.Refused(Problem problem) -> send(request, problem);
      case Answer.Written(Buffer body, boolean compressed) -> {
        if (compressed) {
          response.putHeader(HttpHeaders.CONTENT_ENCODING, "gzip");
        }
        yield send(response, 200, question.mediaType(), body);
      }
      case Answer.Found(Record found) ->
          onLoop(vertx.executeBlocking(() -> question.write(found), false))
              .compose(body -> send(response, 200, question.mediaType(), body));
    };
  }

  private void timeOut(HttpServerRequest request) {
    metrics.timedOut.increment();
    if (request.response().headWritten()) {
      var _ = request.connection().close();
    } else {
      refuse(
          request,
          Problem.unavailable(
              "the answer took longer than %d ms; retry later".formatted(answeredMsMax)));
    }
  }

  private Future<Void> failed(HttpServerRequest request, Throwable bug) {
    LOG.error("{} {} failed", request.method(), request.path(), bug);
    return send(request, Problem.failed());
  }

  private void refuse(HttpServerRequest request, Problem problem) {
    var _ = send(request, problem);
  }

  private Future<Void> send(HttpServerRequest request, Problem problem) {
    problem.headers().forEach(request.response()::putHeader);
    return isReadByKubectl(request)
        ? send(request.response(), problem.status(), JSON, Json.buffer(problem.kubernetesStatus()))
        : send(request.response(), problem.status(), Problem.TYPE, Json.buffer(problem.document()));
  }

  /** It shows an error only if that is a Kubernetes {@code Status}. */
  private static boolean isReadByKubectl(HttpServerRequest request) {
    return Route.isOfKubernetes(String.valueOf(request.path()))
        || String.valueOf(request.query()).contains(Question.OUTPUT + "=");
  }

  private Future<Void> send(HttpServerResponse response, int status, String type, Buffer body) {
    metrics.answered(status);
    return response
        .setStatusCode(status)
        .putHeader("Content-Type", type)
        .putHeader("Cache-Control", "no-store")
        .putHeader("X-Content-Type-Options", "nosniff")
        .end(body);
  }
}
