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
  private final Supplier<Readiness> readiness;
  private final Supplier<Readiness> alive;

  /** One that answers /healthz as long as it answers at all. */
  public MetricsServer(NodeMetrics metrics, Supplier<Readiness> readiness) {
    this(metrics, readiness, () -> Readiness.unless(List.of()));
  }

  /**
   * @param alive the answer of /healthz
   */
  public MetricsServer(
      NodeMetrics metrics, Supplier<Readiness> readiness, Supplier<Readiness> alive) {
    this.metrics = metrics;
    this.readiness = readiness;
    this.alive = alive;
  }

  public Future<HttpServer> listen(Vertx vertx, HostPort at) {
    return vertx.createHttpServer().requestHandler(this::handle).listen(at.port(), at.host());
  }

  private void handle(HttpServerRequest request) {
    switch (request.path()) {
      case "/metrics" -> answer(request, 200, metrics.scrape());
      case "/healthz" -> answer(request, alive.get());
      case "/readyz" -> answer(request, readiness.get());
      case null, default -> answer(request, 404, "/metrics, /healthz, /readyz\n");
    }
  }

  private static void answer(HttpServerRequest request, Readiness now) {
    String body = now.sentences().isEmpty() ? "ok" : String.join("\n", now.sentences());
    answer(request, now.ready() ? 200 : 503, body + "\n");
  }

  private static void answer(HttpServerRequest request, int status, String body) {
    var response = request.response().setStatusCode(status).putHeader("content-type", TEXT);
    response.end(body);
  }
}
