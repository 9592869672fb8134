package dev.tranche.nodeplugin.metrics;

import dev.tranche.nodeplugin.health.Readiness;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.ops.OpsPort;
import dev.tranche.process.ops.Probe;
import dev.tranche.process.settings.HostPort;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import java.util.List;
import java.util.function.Supplier;

/** Plain HTTP: /metrics, /healthz, /readyz. */
public final class MetricsServer {
  private final NodeMetrics metrics;
  private final Supplier<Readiness> readiness;
  private final Supplier<Readiness> liveness;

  /** Creates a server whose /healthz succeeds as long as it answers at all. */
  public MetricsServer(NodeMetrics metrics, Supplier<Readiness> readiness) {
    this(metrics, readiness, () -> Readiness.readyUnless(List.of()));
  }

  /**
   * @param liveness the answer of /healthz
   */
  public MetricsServer(
      NodeMetrics metrics, Supplier<Readiness> readiness, Supplier<Readiness> liveness) {
    this.metrics = metrics;
    this.readiness = readiness;
    this.liveness = liveness;
  }

  /**
   * @param transport of this Vert.x
   */
  public Future<HttpServer> listen(Vertx vertx, LimitedTransport transport, HostPort at) {
    var port = new ListeningPort(vertx, transport, "metrics", ConnectionLimits.METRICS);
    metrics.connections(port);
    return new OpsPort(metrics::scrape, () -> probe(liveness.get()), () -> probe(readiness.get()))
        .listen(port, at);
  }

  private static Probe probe(Readiness now) {
    return new Probe(
        now.ready(), now.sentences().isEmpty() ? "ok" : String.join("\n", now.sentences()));
  }
}
