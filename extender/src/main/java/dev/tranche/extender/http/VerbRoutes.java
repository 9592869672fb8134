package dev.tranche.extender.http;

import dev.tranche.extender.http.ExtenderV1.ExtenderArgs;
import dev.tranche.extender.http.ExtenderV1.ExtenderBindingArgs;
import dev.tranche.extender.http.ExtenderV1.MalformedException;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.metrics.ExtenderMetrics.Verb;
import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Preempt;
import dev.tranche.extender.verb.Verbs;
import dev.tranche.process.log.LineLimiter;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.net.HttpURLConnection;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves the extender's verbs: decodes, decides and encodes. Runs on the loop that owns the Ledger.
 */
public final class VerbRoutes {
  /**
   * The time limit for reading the body. The chart's httpTimeout is 10 s, and an answer after that
   * is useless. The rest of that time is for the decision.
   */
  public static final long READ_WITHIN_MS = 5_000;

  /** A Pod is 1.5 MiB at most, and 15,000 node names are about 1 MiB. */
  static final int BODY_BYTES_MAX = 4 << 20;

  /** Of all bodies. */
  static final int BYTES_MAX = 32 << 20;

  /**
   * The most calls at once. kube-scheduler filters one pod at a time; binds run concurrently, and
   * are small.
   */
  static final int CALLS_MAX = 1_024;

  private static final Logger LOG = LoggerFactory.getLogger(VerbRoutes.class);
  private static final String NOT_CACHE_CAPABLE =
      "the request has no %s: set nodeCacheCapable: true for this extender in the"
          + " KubeSchedulerConfiguration";

  private static final String OVERLOADED =
      "too many requests are queued for the extender; the pod will be retried";
  private static final String TOO_LARGE =
      "the request has more than %d bytes: set nodeCacheCapable: true for this extender in the KubeSchedulerConfiguration, so that nodes are named and not sent"
          .formatted(BODY_BYTES_MAX);

  /** The names of 15,000 nodes, or as many bytes of a Pod, take a few milliseconds. */
  static final int READ_HERE_BYTES_MAX = 512 << 10;

  final Semaphore places = new Semaphore(CALLS_MAX);
  private final Semaphore bodyBytes = new Semaphore(BYTES_MAX);
  private final LineLimiter slowLog = new LineLimiter(LOG, "slow requests from");
  private final Vertx vertx;
  private final long readWithinMs;
  private final Verbs verbs;
  private final ExtenderMetrics metrics;
  private final Map<String, Route> routes;

  public VerbRoutes(
      Vertx vertx, ExtenderReader reader, Verbs verbs, ExtenderMetrics metrics, long readWithinMs) {
    this.vertx = vertx;
    this.readWithinMs = readWithinMs;
    this.verbs = verbs;
    this.metrics = metrics;
    routes =
        Map.of(
            "/filter", route(Verb.FILTER, reader::args, this::filter),
            "/prioritize", route(Verb.PRIORITIZE, reader::args, this::prioritize),
            "/pack", route(Verb.PACK, reader::args, this::pack),
            "/bind", route(Verb.BIND, reader::binding, this::bind),
            "/preempt", route(Verb.PREEMPT, reader::args, this::preempt));
  }

  /** An encoded answer and how it is counted. */
  private record Answer(int status, Buffer body, boolean failed) {
    Answer(Buffer body, boolean failed) {
      this(200, body, failed);
    }
  }

  /**
   * @param answer to a body
   */
  private record Route(Verb verb, Function<byte[], Future<Answer>> answer) {}

  private <T> Route route(
      Verb verb, Function<byte[], T> reading, Function<T, Future<Answer>> decision) {
    return new Route(verb, body -> read(body, reading).compose(decision));
  }

  /** Handles a request on the loop; one beyond the limits is refused unread. */
  public void handle(HttpServerRequest request) {
    Route route = routes.get(request.path());
    // Netty admits no other text than digits.
    String announced = request.getHeader(HttpHeaders.CONTENT_LENGTH);
    long length = announced == null ? 0 : Long.parseLong(announced);
    if (route == null || !request.method().equals(HttpMethod.POST)) {
      request.response().setStatusCode(HttpURLConnection.HTTP_NOT_FOUND).end();
    } else if (length > BODY_BYTES_MAX) {
      refuse(request, route.verb(), TOO_LARGE);
    } else if (!tryAcquire((int) length)) {
      refuse(request, route.verb(), OVERLOADED);
    } else {
      admit(request, route, (int) length);
    }
  }

  private boolean tryAcquire(int length) {
    if (!places.tryAcquire()) {
      return false;
    }
    if (!bodyBytes.tryAcquire(length)) {
      places.release();
      return false;
    }
    return true;
  }

  private void refuse(HttpServerRequest request, Verb verb, String why) {
    metrics.shed(verb).increment();
    write(request, undecided(verb, why));
  }

  /** Reads the body, into one array of its size: thousands of node names come for each pod. */
  private void admit(HttpServerRequest request, Route route, int length) {
    long timer = vertx.setTimer(readWithinMs, late -> resetSlowRequest(request, route.verb()));
    Promise<Void> ended = Promise.promise();
    ended
        .future()
        .onSuccess(
            any -> {
              vertx.cancelTimer(timer);
              places.release();
              bodyBytes.release(length);
            });
    request
        .response()
        .exceptionHandler(lost -> ended.tryComplete())
        .closeHandler(closed -> ended.tryComplete())
        .endHandler(end -> ended.tryComplete());
    ByteBuffer body = ByteBuffer.allocate(length);
    request.handler(
        piece -> {
          piece.getBytes(body.array(), body.position());
          body.position(body.position() + piece.length());
        });
    request.endHandler(
        end -> {
          vertx.cancelTimer(timer);
          answer(request, route, body.array());
        });
  }

  /**
   * Resets the request without an answer. Otherwise the rest of the body would still arrive and
   * take the bytes that others need.
   */
  private void resetSlowRequest(HttpServerRequest request, Verb verb) {
    if (slowLog.tryAcquire(request.remoteAddress().hostAddress())) {
      LOG.warn("closed a request to {}: its body did not arrive within {} ms", verb, readWithinMs);
    }
    metrics.shed(verb).increment();
    var _ = request.response().reset();
  }

  /**
   * Returns the answer when nothing is decided. Filter and bind have an error field; kube-scheduler
   * shows the body of a 200 response only. Prioritize has none, and an empty list scores all nodes
   * alike. An empty result of preempt would mean that preemption helps on no node.
   */
  private static Answer undecided(Verb verb, String why) {
    return switch (verb) {
      case FILTER, BIND -> error(why);
      case PRIORITIZE, PACK -> new Answer(ExtenderWriter.scores(Map.of()), true);
      case PREEMPT -> preemptRefused(why);
    };
  }

  private static void write(HttpServerRequest request, Answer answer) {
    HttpServerResponse response = request.response();
    if (!response.closed()) {
      response
          .setStatusCode(answer.status())
          .putHeader("Content-Type", "application/json")
          .end(answer.body());
    }
  }

  private void answer(HttpServerRequest request, Route route, byte[] body) {
    long startedNs = System.nanoTime();
    Verb verb = route.verb();
    route
        .answer()
        .apply(body)
        .otherwise(failure -> failed(verb, failure))
        .onSuccess(
            answer -> {
              metrics.answered(verb, answer.failed(), System.nanoTime() - startedNs);
              write(request, answer);
            });
  }

  private static Answer failed(Verb verb, Throwable failure) {
    if (failure instanceof MalformedException) {
      return undecided(verb, String.valueOf(failure.getMessage()));
    }
    LOG.error("{} failed", verb, failure);
    return undecided(verb, "the extender failed at %s: %s".formatted(verb, failure));
  }

  /** Reads a body. A large one would hold the loop, so that a worker reads it. */
  private <T> Future<T> read(byte[] body, Function<byte[], T> reading) {
    if (body.length > READ_HERE_BYTES_MAX) {
      return vertx.executeBlocking(() -> reading.apply(body), false).map(Objects::requireNonNull);
    }
    return Future.future(read -> read.complete(reading.apply(body)));
  }

  private static Answer error(@Nullable String sentence) {
    return new Answer(ExtenderWriter.error(String.valueOf(sentence)), true);
  }

  private Future<Answer> filter(ExtenderArgs args) {
    List<String> names = args.nodeNames();
    if (names == null) {
      return Future.succeededFuture(error(NOT_CACHE_CAPABLE.formatted("NodeNames")));
    }
    Optional<PodFacts> pod = args.pod();
    pod.ifPresent(p -> verbs.filter().requested(p.uid(), args.host()));
    Future<Filter.Answer> answer =
        pod.isEmpty()
            ? Future.succeededFuture(new Filter.Answer.Nodes(names, Map.of()))
            : verbs.filter().inTurns(pod.get(), names, args.hasNodePreferences(), args.group());
    return answer.map(
        decided ->
            new Answer(ExtenderWriter.filter(decided), decided instanceof Filter.Answer.Undecided));
  }

  private Future<Answer> prioritize(ExtenderArgs args) {
    return scores(args.pod().map(pod -> prioritized(pod, names(args))).orElse(Map.of()));
  }

  private Map<String, Integer> prioritized(PodFacts pod, List<String> names) {
    try {
      return verbs.prioritize().prioritize(pod, names);
    } catch (RuntimeException | LinkageError bug) {
      throw new IllegalStateException("prioritize of pod " + pod.key(), bug);
    }
  }

  private static List<String> names(ExtenderArgs args) {
    return Objects.requireNonNullElse(args.nodeNames(), List.of());
  }

  private static Future<Answer> scores(Map<String, Integer> byNode) {
    return Future.succeededFuture(new Answer(ExtenderWriter.scores(byNode), false));
  }

  /**
   * Prioritizes nodes for pods that request no GPU. Pods with a GPU go through {@link #prioritize}.
   */
  private Future<Answer> pack(ExtenderArgs args) {
    return scores(
        args.pod().isPresent()
            ? Map.of()
            : verbs.prioritize().withoutGpu(args.host(), names(args), args.hasNodePreferences()));
  }

  private Future<Answer> bind(ExtenderBindingArgs args) {
    return verbs
        .bind()
        .bind(args.key(), args.podUid(), args.node())
        .map(error -> new Answer(ExtenderWriter.error(error.orElse("")), error.isPresent()));
  }

  /** The result of preempt has no error field: any status but 200 means that no pod is evicted. */
  private Future<Answer> preempt(ExtenderArgs args) {
    Map<String, Preempt.VictimUids> victims = args.victims();
    if (victims == null) {
      return Future.succeededFuture(
          preemptRefused(NOT_CACHE_CAPABLE.formatted("NodeNameToMetaVictims")));
    }
    if (args.pod().isEmpty()) {
      return Future.succeededFuture(new Answer(ExtenderWriter.victims(victims), false));
    }
    PodFacts pod = args.pod().get();
    return verbs.preempt().preempt(pod, victims).map(answer -> preempted(pod, answer));
  }

  private static Answer preempted(PodFacts pod, Preempt.Answer answer) {
    return switch (answer) {
      case Preempt.Answer.Nodes(var chosen) -> new Answer(ExtenderWriter.victims(chosen), false);
      case Preempt.Answer.Undecided(String why) -> {
        LOG.info("not evicting any pod for pod {}: {}", pod.key(), why);
        yield preemptRefused(why);
      }
    };
  }

  private static Answer preemptRefused(String sentence) {
    return new Answer(500, ExtenderWriter.error(sentence), true);
  }
}
