package dev.tranche.webhook;

import dev.tranche.process.listen.ConnectionLimiter;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.settings.HostPort;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;

/** Serves /metrics, /healthz and /readyz. */
final class AdminServer {
  /**
   * Ends a connection whose peer does not take its answer. Prometheus asks more often than that.
   */
  private static final int IDLE_S_MAX = 90;

  private static final String PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8";

  private final PrometheusMeterRegistry registry;
  private final Readiness readiness;
  private final ConnectionLimiter connections;

  AdminServer(
      PrometheusMeterRegistry registry, Readiness readiness, ConnectionLimiter connections) {
    this.registry = registry;
    this.readiness = readiness;
    this.connections = connections;
  }

  /**
   * @param transport the transport of this Vert.x instance
   */
  Future<HttpServer> listen(Vertx vertx, LimitedTransport transport, HostPort address) {
    return new ListeningPort(vertx, transport, "metrics", connections)
        .http1(new HttpServerOptions().setIdleTimeout(IDLE_S_MAX), this::handle)
        .listen(SocketAddress.inetSocketAddress(address.port(), address.host()));
  }

  private void handle(HttpServerRequest request) {
    switch (request.path()) {
      case "/metrics" -> answer(request, 200, PROMETHEUS_TEXT, registry.scrape());
      // Any answer shows that the process is alive.
      case "/healthz" -> answer(request, 200, "text/plain", "ok\n");
      case "/readyz" ->
          readiness
              .missing()
              .ifPresentOrElse(
                  reason -> answer(request, 503, "text/plain", "not ready: " + reason + "\n"),
                  () -> answer(request, 200, "text/plain", "ready\n"));
      case null, default ->
          answer(request, 404, "text/plain", "there are /metrics, /healthz and /readyz\n");
    }
  }

  private static void answer(HttpServerRequest request, int status, String type, String text) {
    request.response().setStatusCode(status).putHeader("content-type", type).end(text);
  }
}
