package dev.tranche.webhook;

import dev.tranche.webhook.AdmissionReview.Read;
import dev.tranche.webhook.WebhookMetrics.Outcome;
import dev.tranche.webhook.tls.Pair;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.ServerSSLOptions;
import io.vertx.core.net.SocketAddress;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.handler.BodyHandler;
import io.vertx.ext.web.handler.PlatformHandler;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Listens for the API server's reviews, over TLS. */
final class AdmissionVerticle extends VerticleBase {
  static final String FRACTION_PATH = "/mutate/fraction";

  /** The API server's own limit of a request is 3 MiB. */
  private static final long BODY_BYTES_MAX = 3L << 20;

  private static final long BODIES_BYTES_MAX = 16L << 20;
  private static final int IDLE_S_MAX = 120;
  private static final Logger LOG = LoggerFactory.getLogger(AdmissionVerticle.class);

  private final SocketAddress address;
  private final PodMutator mutator;
  private final Supplier<MutationRules.Cluster> cluster;
  private final WebhookMetrics metrics;
  private final BodyBudget budget = new BodyBudget(BODIES_BYTES_MAX);
  private volatile Pair pair;
  private volatile @Nullable HttpServer server;

  /**
   * @param pair that it serves with until {@link #serveWith} names another
   */
  AdmissionVerticle(
      SocketAddress address,
      PodMutator mutator,
      Supplier<MutationRules.Cluster> cluster,
      WebhookMetrics metrics,
      Pair pair) {
    this.address = address;
    this.mutator = mutator;
    this.cluster = cluster;
    this.metrics = metrics;
    this.pair = pair;
    metrics.inFlight(budget, BodyBudget::bytes);
  }

  @Override
  public Future<?> start() {
    var options =
        new HttpServerOptions()
            .setSsl(true)
            .setUseAlpn(true)
            .setKeyCertOptions(keyCert(pair))
            .setIdleTimeout(IDLE_S_MAX);
    return vertx
        .createHttpServer(options)
        .requestHandler(routes())
        .listen(address)
        .onSuccess(listening -> server = listening);
  }

  /** New connections see the new certificate; those open go on. */
  Future<Void> serveWith(Pair renewed) {
    HttpServer listening = server;
    if (listening == null || renewed.equals(pair)) {
      return Future.succeededFuture();
    }
    return listening
        .updateSSLOptions(
            new ServerSSLOptions().setKeyCertOptions(keyCert(renewed)).setUseAlpn(true))
        .onSuccess(changed -> pair = renewed)
        .mapEmpty();
  }

  Pair servedPair() {
    return pair;
  }

  int port() {
    HttpServer listening = server;
    return listening == null ? -1 : listening.actualPort();
  }

  /** Takes no more connections, and ends when those in flight are answered or after the limit. */
  Future<Void> drain(long limitMs) {
    HttpServer listening = server;
    return listening == null
        ? Future.succeededFuture()
        : listening.shutdown(limitMs, TimeUnit.MILLISECONDS);
  }

  private Router routes() {
    Router router = Router.router(vertx);
    router
        .post(FRACTION_PATH)
        // A form would be decoded, and the decoder has opinions of its own.
        .consumes("application/json")
        .handler((PlatformHandler) this::takeBudget)
        .handler(BodyHandler.create(false).setBodyLimit(BODY_BYTES_MAX))
        .handler(this::review);
    router.errorHandler(
        413,
        context -> {
          metrics.count(Outcome.MALFORMED);
          refuse(context, 413, "the body is larger than " + BODY_BYTES_MAX + " bytes");
        });
    router.errorHandler(
        415,
        context -> {
          metrics.count(Outcome.MALFORMED);
          refuse(context, 415, "a review is application/json");
        });
    router.errorHandler(
        500,
        context -> {
          metrics.count(Outcome.FAILED);
          LOG.error("a review failed", context.failure());
          refuse(context, 500, "the webhook failed on this review; its log says why");
        });
    return router;
  }

  private void takeBudget(RoutingContext context) {
    long announced = announcedBytes(context.request().getHeader("content-length"));
    if (!budget.take(announced)) {
      metrics.count(Outcome.SHED);
      refuse(context, 503, "too many reviews are in flight; try again");
      return;
    }
    context.addEndHandler(done -> budget.giveBack(announced));
    context.next();
  }

  private void review(RoutingContext context) {
    long startNanos = System.nanoTime();
    Buffer body = context.body().buffer();
    switch (AdmissionReview.read(body == null ? new byte[0] : body.getBytes())) {
      case Read.Malformed(String reason) -> {
        metrics.count(Outcome.MALFORMED);
        refuse(context, 400, reason);
      }
      case Read.NotOurs(String uid) ->
          answer(context, uid, "", new Mutation.Unchanged(List.of()), startNanos);
      case Read.PodCreation(String uid, String who, var pod) ->
          answer(context, uid, who, mutator.mutate(pod, cluster.get()), startNanos);
    }
  }

  private void answer(
      RoutingContext context, String uid, String who, Mutation mutation, long startNanos) {
    byte[] answer = AdmissionReview.answer(uid, mutation);
    context.response().putHeader("content-type", "application/json").end(Buffer.buffer(answer));
    long tookNanos = System.nanoTime() - startNanos;
    switch (mutation) {
      case Mutation.Unchanged(var warnings) ->
          metrics.admitted(Outcome.UNCHANGED, warnings.size(), tookNanos);
      case Mutation.Patched(var patch, var warnings) ->
          metrics.admitted(Outcome.PATCHED, warnings.size(), tookNanos);
      case Mutation.Denied(String message) -> {
        metrics.admitted(Outcome.DENIED, 0, tookNanos);
        LOG.info("pod {} denied: {}", who, message);
      }
    }
  }

  private static void refuse(RoutingContext context, int status, String reason) {
    context.response().setStatusCode(status).putHeader("content-type", "text/plain").end(reason);
  }

  private static long announcedBytes(@Nullable String contentLength) {
    boolean number = contentLength != null && contentLength.matches("\\d{1,9}");
    return number ? Math.min(Long.parseLong(contentLength), BODY_BYTES_MAX) : BODY_BYTES_MAX;
  }

  private static PemKeyCertOptions keyCert(Pair pair) {
    return new PemKeyCertOptions()
        .addCertValue(Buffer.buffer(pair.certificatePem()))
        .addKeyValue(Buffer.buffer(pair.keyPem()));
  }
}
