package dev.tranche.nodeplugin.metrics;

import dev.tranche.nodeplugin.config.HostPort;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerRequest;
import java.util.function.Supplier;

/** Plain HTTP: /metrics, /healthz, /readyz. */
public final class MetricsServer {
  private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";

  private final NodeMetrics metrics;
  private final Supplier<Readiness> readiness;

  public MetricsServer(NodeMetrics metrics, Supplier<Readiness> readiness) {
    this.metrics = metrics;
    this.readiness = readiness;
  }

  public Future<HttpServer> listen(Vertx vertx, HostPort at) {
    return vertx.createHttpServer().requestHandler(this::handle).listen(at.port(), at.host());
  }

  private void handle(HttpServerRequest request) {
    switch (request.path()) {
      case "/metrics" -> answer(request, 200, metrics.scrape());
      case "/healthz" -> answer(request, 200, "ok\n");
      case "/readyz" -> ready(request);
      case null, default -> answer(request, 404, "/metrics, /healthz, /readyz\n");
    }
  }

  private void ready(HttpServerRequest request) {
    Readiness now = readiness.get();
    String body = now.sentences().isEmpty() ? "ok" : String.join("\n", now.sentences());
    answer(request, now.ready() ? 200 : 503, body + "\n");
  }

  private static void answer(HttpServerRequest request, int status, String body) {
    var response = request.response().setStatusCode(status).putHeader("content-type", TEXT);
    response.end(body);
  }
}
