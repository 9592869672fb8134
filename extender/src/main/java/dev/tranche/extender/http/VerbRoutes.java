package dev.tranche.extender.http;

import dev.tranche.extender.http.ExtenderV1.ExtenderArgs;
import dev.tranche.extender.http.ExtenderV1.ExtenderBindingArgs;
import dev.tranche.extender.http.ExtenderV1.ExtenderPreemptionArgs;
import dev.tranche.extender.http.ExtenderV1.MalformedException;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.metrics.ExtenderMetrics.Verb;
import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Preempt;
import dev.tranche.extender.verb.Verbs;
import dev.tranche.process.log.LineLimiter;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.net.HttpURLConnection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves the extender's verbs: decodes, decides and encodes. Runs on the loop that owns the Ledger.
 */
public final class VerbRoutes {
  private static final Logger LOG = LoggerFactory.getLogger(VerbRoutes.class);
  private static final String NOT_CACHE_CAPABLE =
      "the request has no NodeNames: set nodeCacheCapable: true for this extender in the"
          + " KubeSchedulerConfiguration";

  private static final String NOT_CACHE_CAPABLE_TO_PREEMPT =
      "the request has no NodeNameToMetaVictims: set nodeCacheCapable: true for this extender in"
          + " the KubeSchedulerConfiguration";

  private static final String OVERLOADED =
      "too many requests are queued for the extender; the pod will be retried";
  private static final String TOO_LARGE =
      "the request has more than %d bytes: set nodeCacheCapable: true for this extender in the KubeSchedulerConfiguration, so that nodes are named and not sent"
          .formatted(RequestLimiter.BODY_BYTES_MAX);
  private static final String FAILED = "the extender failed at %s: %s";
  private static final String LATE = "the request arrived too slowly; the pod will be retried";

  /** The names of 15,000 nodes, or as many bytes of a Pod, take a few milliseconds. */
  static final int READ_HERE_BYTES_MAX = 512 << 10;

  private static final String ADMISSION = "admission";
  private static final String READ_TIMER = "readTimer";

  private final RequestLimiter limiter = new RequestLimiter();
  private final BodyReader body = new BodyReader();
  private final LineLimiter slowLog = new LineLimiter(LOG, "slow requests from");
  private final long readWithinMs;
  private final ExtenderReader reader;
  private final Verbs verbs;
  private final ExtenderMetrics metrics;

  public VerbRoutes(
      ExtenderReader reader, Verbs verbs, ExtenderMetrics metrics, long readWithinMs) {
    this.readWithinMs = readWithinMs;
    this.reader = reader;
    this.verbs = verbs;
    this.metrics = metrics;
    metrics.gauge(
        "tranche.extender.verbs.in.flight",
        "Requests of kube-scheduler that are queued or in progress; bounded.",
        limiter::calls);
  }

  /** An encoded answer and how it is counted. */
  private record Answer(int status, Buffer body, boolean failed) {
    Answer(Buffer body, boolean failed) {
      this(200, body, failed);
    }
  }

  @FunctionalInterface
  private interface Reading<T> {
    T of(Body body) throws MalformedException;
  }

  public Router router(Vertx vertx) {
    Router router = Router.router(vertx);
    verb(router, Verb.FILTER, reader::args, this::filter);
    verb(router, Verb.PRIORITIZE, reader::args, this::prioritize);
    verb(router, Verb.PACK, reader::args, this::pack);
    verb(router, Verb.BIND, reader::binding, this::bind);
    verb(router, Verb.PREEMPT, reader::preemption, this::preempt);
    return router;
  }

  private <T> void verb(
      Router router, Verb verb, Reading<T> reading, Function<T, Future<Answer>> decision) {
    String path = "/" + verb;
    router.post(path).handler(call -> admit(call, verb));
    router.post(path).handler(body);
    router
        .post(path)
        .handler(call -> answer(call, verb, () -> read(call, reading).compose(decision)));
    router.post(path).failureHandler(call -> refuseBody(call, verb));
  }

  /** Refuses requests beyond the limits without reading them. */
  private void admit(RoutingContext call, Verb verb) {
    RequestLimiter.Admission admission = limiter.admit(call.request(), System.nanoTime());
    if (admission == null) {
      metrics.shed(verb);
      write(call, undecided(verb, OVERLOADED));
      return;
    }
    call.put(ADMISSION, admission);
    Vertx vertx = call.vertx();
    long timer = vertx.setTimer(readWithinMs, slow -> resetSlowRequest(call, verb, admission));
    call.put(READ_TIMER, timer);
    call.addEndHandler(
        done -> {
          vertx.cancelTimer(timer);
          limiter.release(admission);
        });
    call.next();
  }

  /**
   * Answers a request whose body wasn't accepted, such as one with the whole nodes of a large
   * cluster.
   */
  private void refuseBody(RoutingContext call, Verb verb) {
    if (call.response().ended() || call.response().closed()) {
      return;
    }
    metrics.shed(verb);
    boolean large = call.statusCode() == HttpURLConnection.HTTP_ENTITY_TOO_LARGE;
    write(call, undecided(verb, large ? TOO_LARGE : FAILED.formatted(verb, call.failure())));
  }

  /**
   * Resets the request without an answer. Otherwise the rest of the body would still arrive and
   * take the bytes that others need.
   */
  private void resetSlowRequest(
      RoutingContext call, Verb verb, RequestLimiter.Admission admission) {
    if (slowLog.tryAcquire(call.request().remoteAddress().hostAddress())) {
      LOG.warn("closed a request to {}: its body did not arrive within {} ms", verb, readWithinMs);
    }
    metrics.shed(verb);
    limiter.release(admission);
    var _ = call.response().reset();
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

  private static void write(RoutingContext call, Answer answer) {
    call.response()
        .setStatusCode(answer.status())
        .putHeader("Content-Type", "application/json")
        .end(answer.body());
  }

  /** Returns the number of calls that wait or are being decided. */
  int calls() {
    return limiter.calls();
  }

  private void answer(RoutingContext call, Verb verb, Supplier<Future<Answer>> decision) {
    long startedNs = System.nanoTime();
    Long timer = call.get(READ_TIMER);
    if (timer != null) {
      call.vertx().cancelTimer(timer);
    }
    decide(call, verb, decision)
        .onComplete(
            done -> {
              boolean failed = done.failed() || done.result().failed();
              metrics.answered(verb, failed, System.nanoTime() - startedNs);
              if (done.failed()) {
                LOG.error("{} failed", verb, done.cause());
                write(call, undecided(verb, FAILED.formatted(verb, done.cause())));
              } else {
                write(call, done.result());
              }
            });
  }

  private static Future<Answer> decide(
      RoutingContext call, Verb verb, Supplier<Future<Answer>> decision) {
    if (isLate(call)) {
      return Future.succeededFuture(undecided(verb, LATE));
    }
    return decision
        .get()
        .recover(
            failure ->
                failure instanceof MalformedException
                    ? Future.succeededFuture(undecided(verb, String.valueOf(failure.getMessage())))
                    : Future.failedFuture(failure));
  }

  /** Reads a body. A large one would hold the loop, so that a worker reads it. */
  private static <T> Future<T> read(RoutingContext call, Reading<T> reading) {
    Body body = BodyReader.of(call);
    if (body.lengthBytes > READ_HERE_BYTES_MAX) {
      Body own = body.copy();
      return call.vertx()
          .executeBlocking(() -> reading.of(own), false)
          .map(Objects::requireNonNull);
    }
    try {
      return Future.succeededFuture(reading.of(body));
    } catch (MalformedException | RuntimeException unreadable) {
      return Future.failedFuture(unreadable);
    }
  }

  private static boolean isLate(RoutingContext call) {
    RequestLimiter.@Nullable Admission admission = call.get(ADMISSION);
    return admission != null && admission.isLate(System.nanoTime());
  }

  private static Answer error(@Nullable String sentence) {
    return new Answer(ExtenderWriter.error(String.valueOf(sentence)), true);
  }

  private Future<Answer> filter(ExtenderArgs args) {
    List<String> names = args.nodeNames();
    if (names == null) {
      return Future.succeededFuture(error(NOT_CACHE_CAPABLE));
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
    List<String> names = args.nodeNames() == null ? List.of() : args.nodeNames();
    Map<String, Integer> scores = new HashMap<>();
    if (args.pod().isPresent()) {
      scores = verbs.prioritize().prioritize(args.pod().get(), names);
    }
    return Future.succeededFuture(new Answer(ExtenderWriter.scores(scores), false));
  }

  /**
   * Prioritizes nodes for pods that request no GPU. Pods with a GPU go through {@link #prioritize}.
   */
  private Future<Answer> pack(ExtenderArgs args) {
    List<String> names = args.nodeNames() == null ? List.of() : args.nodeNames();
    Map<String, Integer> scores =
        args.pod().isPresent()
            ? Map.of()
            : verbs.prioritize().withoutGpu(args.host(), names, args.hasNodePreferences());
    return Future.succeededFuture(new Answer(ExtenderWriter.scores(scores), false));
  }

  private Future<Answer> bind(ExtenderBindingArgs args) {
    return verbs
        .bind()
        .bind(args.key(), args.podUid(), args.node())
        .map(error -> new Answer(ExtenderWriter.bound(error), error.isPresent()));
  }

  /** The result of preempt has no error field: any status but 200 means that no pod is evicted. */
  private Future<Answer> preempt(ExtenderPreemptionArgs args) {
    Map<String, Preempt.VictimUids> victims = args.victims();
    if (victims == null) {
      return Future.succeededFuture(preemptRefused(NOT_CACHE_CAPABLE_TO_PREEMPT));
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
