package dev.tranche.nodeplugin.metrics;

import dev.tranche.nodeplugin.health.Readiness;
import dev.tranche.process.listen.ConnectionLimiter;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.settings.HostPort;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import java.util.List;
import java.util.function.Supplier;

/** Plain HTTP: /metrics, /healthz, /readyz. */
public final class MetricsServer {
  /**
   * Ends a connection whose peer does not take its answer. Prometheus asks more often than that.
   */
  private static final int IDLE_S_MAX = 90;

  private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";

  private final NodeMetrics metrics;
  private final Supplier<Readiness> readiness;
  private final Supplier<Readiness> liveness;
  private final ConnectionLimiter connections;

  /** Creates a server whose /healthz succeeds as long as it answers at all. */
  public MetricsServer(NodeMetrics metrics, Supplier<Readiness> readiness) {
    this(metrics, readiness, () -> Readiness.readyUnless(List.of()), ConnectionLimits.METRICS);
  }

  /**
   * @param liveness the answer of /healthz
   */
  public MetricsServer(
      NodeMetrics metrics,
      Supplier<Readiness> readiness,
      Supplier<Readiness> liveness,
      ConnectionLimits limits) {
    this.metrics = metrics;
    this.readiness = readiness;
    this.liveness = liveness;
    this.connections = new ConnectionLimiter(limits);
    metrics.connections("metrics", connections);
  }

  /**
   * @param transport of this Vert.x
   */
  public Future<HttpServer> listen(Vertx vertx, LimitedTransport transport, HostPort at) {
    return new ListeningPort(vertx, transport, "metrics", connections)
        .http1(new HttpServerOptions().setIdleTimeout(IDLE_S_MAX), this::handle)
        .listen(SocketAddress.inetSocketAddress(at.port(), at.host()));
  }

  private void handle(HttpServerRequest request) {
    switch (request.path()) {
      case "/metrics" -> answer(request, 200, metrics.scrape());
      case "/healthz" -> answer(request, liveness.get());
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
