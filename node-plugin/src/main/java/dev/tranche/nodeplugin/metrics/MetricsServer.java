package dev.tranche.nodeplugin.metrics;

import dev.tranche.nodeplugin.config.HostPort;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerRequest;
import java.util.List;
import java.util.function.Supplier;

/** Plain HTTP: /metrics, /healthz, /readyz. */
public final class MetricsServer {
  private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";

  private final NodeMetrics metrics;
  private final Supplier<List<String>> missing;

  /**
   * @param missing sentences that say what is missing for service; empty: ready
   */
  public MetricsServer(NodeMetrics metrics, Supplier<List<String>> missing) {
    this.metrics = metrics;
    this.missing = missing;
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
    List<String> sentences = missing.get();
    if (sentences.isEmpty()) {
      answer(request, 200, "ok\n");
    } else {
      answer(request, 503, String.join("\n", sentences) + "\n");
    }
  }

  private static void answer(HttpServerRequest request, int status, String body) {
    var response = request.response().setStatusCode(status).putHeader("content-type", TEXT);
    response.end(body);
  }
}
