package dev.tranche.extender.readapi;

import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.meters.Meters;
import dev.tranche.process.settings.HostPort;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One port of the read API, with its connection limits. Scheduling does not need it: if it cannot
 * be opened, the error is logged and opening is retried.
 */
final class ReadApiPort {
  private static final long OPEN_AGAIN_MS = 10_000;
  private static final Logger LOG = LoggerFactory.getLogger(ReadApiPort.class);

  private final Vertx vertx;
  private final @Nullable HostPort address;
  private final ListeningPort listening;
  private final Handler<HttpServerRequest> requests;
  private @Nullable HttpServerOptions options;
  private volatile @Nullable HttpServer server;

  /**
   * @param address null to keep the port closed
   */
  ReadApiPort(
      Vertx vertx,
      ListeningPort listening,
      @Nullable HostPort address,
      Handler<HttpServerRequest> requests,
      Meters metrics) {
    this.vertx = vertx;
    this.listening = listening;
    this.address = address;
    this.requests = requests;
    if (address != null) {
      metrics.connections(listening);
    }
  }

  /** Opens the port. If it is open, new handshakes use these certificates. */
  synchronized void serve(HttpServerOptions newest) {
    HttpServer open = server;
    options = newest;
    if (open == null) {
      open();
    } else {
      open.updateSSLOptions(newest.getSslOptions())
          .onFailure(failure -> LOG.error("the read API's certificate was not renewed", failure));
    }
  }

  private synchronized void open() {
    HttpServerOptions newest = options;
    HostPort to = address;
    if (newest == null || to == null) {
      return;
    }
    HttpServer opening = listening.http1WithChunkedBodies(newest, () -> false, requests);
    server = opening;
    opening
        .listen(SocketAddress.inetSocketAddress(to.port(), to.host()))
        .onSuccess(open -> LOG.info("the read API listens on {} ({})", to, listening.name()))
        .onFailure(
            failure -> {
              LOG.error(
                  "the read API cannot listen on {} ({}); retrying in {} s",
                  to,
                  listening.name(),
                  OPEN_AGAIN_MS / 1_000,
                  failure);
              vertx.setTimer(OPEN_AGAIN_MS, due -> open());
            });
  }

  int boundPort() {
    HttpServer open = server;
    return open == null ? -1 : Math.max(-1, open.actualPort());
  }
}
