package dev.tranche.extender.readapi;

import dev.tranche.extender.readapi.access.Access;
import dev.tranche.extender.readapi.access.Caller;
import dev.tranche.extender.readapi.access.FrontProxy;
import dev.tranche.extender.readapi.json.Json;
import dev.tranche.extender.readapi.query.KubernetesStatus;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.readapi.table.KubernetesObjects;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.security.cert.Certificate;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
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

  private static final String DISCOVERY = "/apis/" + KubernetesObjects.GROUP_VERSION;

  private final Access access;
  private final ReadApiMetrics metrics;
  private final Semaphore inProgress = new Semaphore(IN_PROGRESS_MAX);
  private @Nullable Endpoint endpoint;
  private volatile @Nullable FrontProxy proxy;
  private final Buffer resources = resources();
  private final Buffer group = group();
  private final Buffer openApi = openApi();

  AggregatedApi(Access access, ReadApiMetrics metrics) {
    this.access = access;
    this.metrics = metrics;
  }

  /**
   * Sets what answers about namespaces.
   *
   * @param answering guarded by {@link #guard}
   */
  void passTo(Endpoint answering) {
    endpoint = answering;
  }

  void setProxy(FrontProxy newest) {
    proxy = newest;
  }

  /** Admits who may get, or list, the pods of the namespace. */
  Endpoint.Guard guard() {
    return (request, route) ->
        user(request)
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
    Endpoint next = endpoint;
    if (user(request).isEmpty()) {
      refuse(request, unknown());
    } else if (Route.isOfKubernetes(path) && next != null) {
      passOn(request, next);
    } else if (path.equals(DISCOVERY)) {
      send(request, 200, resources);
    } else if (path.equals("/apis/" + KubernetesObjects.GROUP)) {
      send(request, 200, group);
    } else if (path.equals("/openapi/v2")) {
      send(request, 200, openApi);
    } else {
      refuse(
          request,
          Problem.of(
              404,
              "Not found",
              "this API shows single namespaces: %s/{namespace}/gpus, /pods, /pods/{name}, /summary, /history and /what-if"
                  .formatted(Access.NAMESPACES)));
    }
  }

  /** Discovery does not come here, so that no user keeps it out. */
  private void passOn(HttpServerRequest request, Endpoint next) {
    if (!inProgress.tryAcquire()) {
      metrics.shed();
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
    next.handle(request);
  }

  private static void refuse(HttpServerRequest request, Problem problem) {
    problem.headers().forEach(request.response()::putHeader);
    send(request, problem.status(), Json.buffer(KubernetesStatus.of(problem)));
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

  /**
   * What {@code kubectl get} can show. The other paths are read by {@code kubectl get --raw} and
   * {@code kubectl tranche}.
   */
  private static Buffer resources() {
    return Json.buffer(
        Map.of(
            "kind",
            "APIResourceList",
            "apiVersion",
            "v1",
            "groupVersion",
            KubernetesObjects.GROUP_VERSION,
            "resources",
            List.of(
                resource("gpus", "gpu", "Gpu", List.of("list")),
                resource("pods", "pod", "Pod", List.of("get", "list")))));
  }

  private static Map<String, Object> resource(
      String name, String singular, String kind, List<String> verbs) {
    return Map.of(
        "name", name, "singularName", singular, "namespaced", true, "kind", kind, "verbs", verbs);
  }

  private static Buffer group() {
    var version = Map.of("groupVersion", KubernetesObjects.GROUP_VERSION, "version", "v1");
    return Json.buffer(
        Map.of(
            "kind",
            "APIGroup",
            "apiVersion",
            "v1",
            "name",
            KubernetesObjects.GROUP,
            "versions",
            List.of(version),
            "preferredVersion",
            version));
  }

  /** The API server retries for ever without a document. One without paths describes no fields. */
  private static Buffer openApi() {
    return Json.buffer(
        Map.of(
            "swagger", "2.0",
            "info", Map.of("title", "Tranche read API", "version", "v1"),
            "paths", Map.of()));
  }
}
