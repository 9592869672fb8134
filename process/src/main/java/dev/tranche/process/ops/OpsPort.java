package dev.tranche.process.ops;

import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.settings.HostPort;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves /metrics, /healthz and /readyz over plain HTTP. Any answer of /healthz shows that the
 * process is alive.
 *
 * @param metrics answers a scrape
 */
public record OpsPort(Handler<HttpServerRequest> metrics, Supplier<Future<Probe>> readiness) {
  /** The type of what Prometheus scrapes. */
  public static final String METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

  private static final String TEXT = "text/plain; charset=utf-8";

  /**
   * Ends a connection whose peer does not take its answer. Prometheus asks more often than that.
   */
  private static final int IDLE_S_MAX = 90;

  private static final Logger LOG = LoggerFactory.getLogger(OpsPort.class);

  /** Creates a port whose probes and metrics are answered at once, on its event loop. */
  public OpsPort(Supplier<String> metrics, Supplier<Probe> readiness) {
    this(
        request -> request.response().putHeader("content-type", METRICS_TYPE).end(metrics.get()),
        () -> Future.succeededFuture(readiness.get()));
  }

  public Future<HttpServer> listen(ListeningPort port, HostPort address) {
    return port.http1(new HttpServerOptions().setIdleTimeout(IDLE_S_MAX), () -> false, this::handle)
        .listen(SocketAddress.inetSocketAddress(address.port(), address.host()));
  }

  private void handle(HttpServerRequest request) {
    switch (request.path()) {
      case "/metrics" -> metrics.handle(request);
      case "/healthz" -> answer(request, 200, "ok");
      case "/readyz" ->
          readiness
              .get()
              .onSuccess(now -> answer(request, now.passed() ? 200 : 503, now.text()))
              .onFailure(bug -> failed(request, bug));
      case null, default -> answer(request, 404, "the pages are /metrics, /healthz and /readyz");
    }
  }

  /** Answers that a page could not be made. */
  public static void failed(HttpServerRequest request, Throwable bug) {
    LOG.error("{} failed", request.path(), bug);
    answer(request, 500, "this page could not be created; the log has the cause");
  }

  /**
   * Answers with a text of ours. Nothing in it is from the request, and no browser takes it for
   * HTML.
   */
  public static void answer(HttpServerRequest request, int status, String text) {
    request
        .response()
        .setStatusCode(status)
        .putHeader("content-type", TEXT)
        .putHeader("x-content-type-options", "nosniff")
        .end(text + "\n");
  }
}
