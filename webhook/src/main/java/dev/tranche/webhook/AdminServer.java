package dev.tranche.webhook;

import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerRequest;

/** Serves /metrics, /healthz and /readyz. */
final class AdminServer {
  private static final String PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8";

  private final PrometheusMeterRegistry registry;
  private final Readiness readiness;

  AdminServer(PrometheusMeterRegistry registry, Readiness readiness) {
    this.registry = registry;
    this.readiness = readiness;
  }

  Future<HttpServer> listen(Vertx vertx, WebhookConfig.Address address) {
    return vertx
        .createHttpServer()
        .requestHandler(this::handle)
        .listen(address.port(), address.host());
  }

  private void handle(HttpServerRequest request) {
    switch (request.path()) {
      case "/metrics" -> answer(request, 200, PROMETHEUS_TEXT, registry.scrape());
      // That it answers at all is the news: the process lives.
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
