package dev.tranche.extender.http;

import dev.tranche.extender.state.ReadinessGate;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.VerticleBase;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.ServerSSLOptions;
import io.vertx.core.net.SocketAddress;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Owns the event loop of the Ledger. The Ledger's clock ticks and the verbs are answered on this
 * loop.
 */
public final class VerbServer extends VerticleBase {
  private static final long TICK_MS = 250;

  /** Longer than kube-scheduler keeps an idle connection, so that it never meets a closed one. */
  private static final int IDLE_S_MAX = 120;

  /** kube-scheduler keeps a connection for each binding that it waits for. */
  private static final ConnectionLimits LOCAL = new ConnectionLimits(2_048, 16).withoutLoopback();

  /** TLS takes memory; the bindings beyond it wait for a connection. */
  private static final ConnectionLimits REMOTE = new ConnectionLimits(256, 128);

  private final SocketAddress address;
  private final ListeningPort listening;
  private final ReadinessGate readiness;
  private final Runnable tick;
  private final Function<Loop, VerbRoutes> routes;
  private @Nullable HttpServer server;

  /**
   * @param listening a port of the Vert.x instance that this is deployed in
   * @param tick called on the loop every 250 ms, to advance the Ledger's clock
   */
  public VerbServer(
      SocketAddress address,
      ListeningPort listening,
      ReadinessGate readiness,
      Runnable tick,
      Function<Loop, VerbRoutes> routes) {
    this.address = address;
    this.listening = listening;
    this.readiness = readiness;
    this.tick = tick;
    this.routes = routes;
  }

  @Override
  public Future<?> start() {
    vertx.setPeriodic(TICK_MS, ignored -> tick.run());
    return Future.succeededFuture();
  }

  /**
   * @param tls whether the port is open to others than our own pod
   */
  public static ConnectionLimits limits(boolean tls) {
    return tls ? REMOTE : LOCAL;
  }

  public Loop loop() {
    return new Loop(context);
  }

  /**
   * Opens the port. If it is open, renews the certificate and the authorities for new connections.
   *
   * @param certificate null: plain HTTP, for loopback
   * @param clients null: any client is admitted
   */
  public Future<Void> serve(
      @Nullable PemKeyCertOptions certificate, @Nullable ClientCertificates clients) {
    if (server != null) {
      var renewed = new ServerSSLOptions().setKeyCertOptions(certificate);
      if (clients != null) {
        renewed.setClientAuth(ClientAuth.REQUIRED).setTrustOptions(clients.authorities());
      }
      return server.updateSSLOptions(renewed).mapEmpty();
    }
    Loop loop = loop();
    return loop.submit(() -> listen(certificate, clients, loop))
        .compose(started -> started)
        .onSuccess(listening -> server = listening)
        .mapEmpty();
  }

  private Future<HttpServer> listen(
      @Nullable PemKeyCertOptions certificate, @Nullable ClientCertificates clients, Loop loop) {
    var options = new HttpServerOptions().setIdleTimeout(IDLE_S_MAX);
    if (certificate != null) {
      options.setSsl(true).setKeyCertOptions(certificate);
    }
    Handler<HttpServerRequest> requests = routes.apply(loop).router(vertx);
    if (clients != null) {
      options.setClientAuth(ClientAuth.REQUIRED).setTrustOptions(clients.authorities());
      requests = clients.admitting(requests);
    }
    // kube-scheduler would otherwise keep its connection and go on asking the previous leader.
    return listening.http1(options, readiness::leadershipMissing, requests).listen(address);
  }

  public int port() {
    return server == null ? -1 : server.actualPort();
  }

  @Override
  public Future<?> stop() {
    return server == null ? Future.succeededFuture() : server.close();
  }
}
