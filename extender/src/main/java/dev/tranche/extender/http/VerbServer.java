package dev.tranche.extender.http;

import dev.tranche.extender.state.ReadinessGate;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.loop.Loop;
import dev.tranche.process.settings.HostPort;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/** Answers the verbs, on the loop of the Ledger. */
public final class VerbServer {
  /** Longer than kube-scheduler keeps an idle connection, so that it never meets a closed one. */
  private static final int IDLE_S_MAX = 120;

  /** kube-scheduler keeps a connection for each binding that it waits for. */
  private static final ConnectionLimits LOCAL = new ConnectionLimits(2_048, 16).withoutLoopback();

  /** TLS takes memory; the bindings beyond it wait for a connection. */
  private static final ConnectionLimits REMOTE = new ConnectionLimits(256, 128);

  private final HostPort address;
  private final ListeningPort listening;
  private final ReadinessGate readiness;
  private final Handler<HttpServerRequest> requests;
  private final Loop loop;
  private volatile @Nullable HttpServer server;

  public VerbServer(
      HostPort address,
      ListeningPort listening,
      ReadinessGate readiness,
      Handler<HttpServerRequest> requests,
      Loop loop) {
    this.address = address;
    this.listening = listening;
    this.readiness = readiness;
    this.requests = requests;
    this.loop = loop;
  }

  /**
   * @param tls whether the port is open to others than our own pod
   */
  public static ConnectionLimits limits(boolean tls) {
    return tls ? REMOTE : LOCAL;
  }

  /**
   * Opens the port. If it is open, renews the certificate and the authorities for new connections.
   *
   * @param certificate null: plain HTTP, for loopback
   * @param clients null: any client is admitted
   */
  public Future<Void> serve(
      @Nullable PemKeyCertOptions certificate, @Nullable ClientCertificates clients) {
    var options = new HttpServerOptions().setIdleTimeout(IDLE_S_MAX);
    if (certificate != null) {
      options.setSsl(true).setKeyCertOptions(certificate);
    }
    if (clients != null) {
      options.setClientAuth(ClientAuth.REQUIRED).setTrustOptions(clients.authorities());
    }
    HttpServer open = server;
    return open != null
        ? open.updateSSLOptions(options.getSslOptions()).mapEmpty()
        : loop.submit(() -> listen(options, clients))
            .compose(listens -> listens)
            .onSuccess(listens -> server = listens)
            .mapEmpty();
  }

  private Future<HttpServer> listen(
      HttpServerOptions options, @Nullable ClientCertificates clients) {
    // kube-scheduler would otherwise keep its connection and go on asking the previous leader.
    return listening
        .http1(
            options,
            readiness::leadershipMissing,
            clients == null ? requests : clients.admitting(requests))
        .listen(SocketAddress.inetSocketAddress(address.port(), address.host()));
  }

  public int port() {
    HttpServer open = server;
    return open == null ? -1 : open.actualPort();
  }
}
