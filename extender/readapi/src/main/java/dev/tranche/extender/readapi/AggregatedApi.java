package dev.tranche.extender.readapi;

import dev.tranche.extender.readapi.access.Access;
import dev.tranche.extender.readapi.access.Caller;
import dev.tranche.extender.readapi.access.FrontProxy;
import dev.tranche.extender.readapi.json.Json;
import dev.tranche.extender.readapi.query.Problem;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.security.cert.Certificate;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.jspecify.annotations.Nullable;

/**
 * Answers requests that the API server proxies, as an aggregated API of Kubernetes. Only the API
 * server is admitted, by its client certificate; it says who the user is. Whether that user may get
 * the pods of the namespace is reviewed here.
 */
final class AggregatedApi implements Handler<HttpServerRequest> {
  /**
   * Requests in progress, from their head on. Each has a connection of its own, and {@link
   * ReadApi#PROXIED} leaves some to discovery: without it the API server takes this API for
   * unavailable.
   */
  static final int IN_PROGRESS_MAX = 24;

  /** The documents that the API server asks for, by path. */
  private static final Map<String, String> DISCOVERY =
      Map.of(
          // What kubectl get can show. kubectl tranche and kubectl get --raw read the other paths.
          "/apis/read.tranche.dev/v1",
          """
          {"kind":"APIResourceList","apiVersion":"v1","groupVersion":"read.tranche.dev/v1","resources":[
            {"name":"gpus","singularName":"gpu","namespaced":true,"kind":"Gpu","verbs":["list"]},
            {"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get","list"]}]}
          """,
          "/apis/read.tranche.dev",
          """
          {"kind":"APIGroup","apiVersion":"v1","name":"read.tranche.dev",
            "versions":[{"groupVersion":"read.tranche.dev/v1","version":"v1"}],
            "preferredVersion":{"groupVersion":"read.tranche.dev/v1","version":"v1"}}
          """,
          // It retries for ever without a document. One without paths describes no fields.
          "/openapi/v2",
          """
          {"swagger":"2.0","info":{"title":"Tranche read API","version":"v1"},"paths":{}}
          """);

  private final Access access;
  private final ReadApiMetrics metrics;
  private final Semaphore inProgress = new Semaphore(IN_PROGRESS_MAX);

  /** Answers about namespaces. */
  final Endpoint endpoint;

  private volatile @Nullable FrontProxy proxy;

  AggregatedApi(Access access, ReadApiMetrics metrics, Function<Endpoint.Guard, Endpoint> guarded) {
    this.access = access;
    this.metrics = metrics;
    this.endpoint = guarded.apply(this::refusal);
  }

  void setProxy(FrontProxy newest) {
    proxy = newest;
  }

  /** Admits who may get, or list, the pods of the namespace. */
  private Future<Optional<Problem>> refusal(HttpServerRequest request, Route route) {
    return user(request)
        .map(user -> access.refusal(user, route.rights()))
        .orElseGet(() -> Future.succeededFuture(Optional.of(unknown())));
  }

  private static Problem unknown() {
    return Problem.unauthorized("only the API server may call this port, for a user of its own");
  }

  /** Returns the request's user; empty if it does not come from the API server. */
  private Optional<Caller.User> user(HttpServerRequest request) {
    FrontProxy known = proxy;
    return known != null && certificate(request).filter(shown -> known.admits(shown)).isPresent()
        ? known.user(request.headers())
        : Optional.empty();
  }

  private static Optional<Certificate> certificate(HttpServerRequest request) {
    try {
      return request.connection().peerCertificates().stream().findFirst();
    } catch (SSLPeerUnverifiedException none) {
      return Optional.empty();
    }
  }

  @Override
  public void handle(HttpServerRequest request) {
    String path = String.valueOf(request.path());
    String document = DISCOVERY.get(path);
    if (user(request).isEmpty()) {
      refuse(request, unknown());
    } else if (Route.isOfKubernetes(path)) {
      passOn(request);
    } else if (document != null) {
      send(request, 200, Buffer.buffer(document));
    } else {
      refuse(
          request,
          Problem.notFound(
              "this API shows single namespaces: %s/{namespace}/gpus, /pods, /pods/{name}, /summary, /history and /what-if"
                  .formatted(Access.NAMESPACES)));
    }
  }

  /** Discovery does not come here, so that no user keeps it out. */
  private void passOn(HttpServerRequest request) {
    if (!inProgress.tryAcquire()) {
      metrics.shed.increment();
      metrics.answered(429);
      refuse(
          request,
          Problem.tooMany(
              "%d requests are in progress; retry in a second".formatted(IN_PROGRESS_MAX)));
      return;
    }
    var released = new AtomicBoolean();
    Handler<Void> release =
        over -> {
          if (released.compareAndSet(false, true)) {
            inProgress.release();
          }
        };
    HttpServerResponse response = request.response();
    response.endHandler(release).closeHandler(release);
    endpoint.handle(request);
  }

  private static void refuse(HttpServerRequest request, Problem problem) {
    problem.headers().forEach(request.response()::putHeader);
    send(request, problem.status(), Json.buffer(problem.kubernetesStatus()));
  }

  private static void send(HttpServerRequest request, int status, Buffer body) {
    var _ =
        request
            .response()
            .setStatusCode(status)
            .putHeader("Content-Type", "application/json")
            .putHeader("Cache-Control", "no-store")
            .end(body);
  }
}
