package dev.tranche.webhook.review;

import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.settings.HostPort;
import dev.tranche.webhook.metrics.ReviewKind;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.metrics.WebhookMetrics.Outcome;
import dev.tranche.webhook.tls.TlsKeyPair;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.ServerSSLOptions;
import io.vertx.core.net.SocketAddress;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Listens for the API server's reviews, over TLS. */
public final class AdmissionServer {
  /**
   * API servers send reviews over HTTP/1.1: one at a time on each connection. Three of them handle
   * up to 600 requests that change objects at once. They may share an address, and each may open a
   * connection for each request.
   */
  public static final ConnectionLimits LIMITS = new ConnectionLimits(640, 600);

  private static final int IDLE_S_MAX = 150;

  /** Maximum chunk size: what TLS delivers at once reaches the body handler in one piece. */
  private static final int CHUNK_BYTES_MAX = 64 << 10;

  private static final Logger LOG = LoggerFactory.getLogger(AdmissionServer.class);

  private final HostPort address;
  private final ListeningPort listening;
  private final Map<String, ReviewHandler> entries;
  private final ReviewBodyReader bodies;
  private final WebhookMetrics metrics;
  private volatile @Nullable HttpServer server;
  private volatile boolean draining;

  /**
   * @param entries the handlers by request path
   */
  public AdmissionServer(
      HostPort address,
      ListeningPort listening,
      Map<String, ReviewHandler> entries,
      ReviewBodyReader bodies,
      WebhookMetrics metrics) {
    this.address = address;
    this.listening = listening;
    this.entries = entries;
    this.bodies = bodies;
    this.metrics = metrics;
    metrics.connections(listening);
  }

  /**
   * Opens the port. If it is open, replaces the served certificate for new connections. Open
   * connections keep the old one.
   */
  public Future<?> serve(TlsKeyPair pair) {
    var certificate =
        new PemKeyCertOptions()
            .addCertValue(Buffer.buffer(pair.certificatePem()))
            .addKeyValue(Buffer.buffer(pair.keyPem()));
    HttpServer open = server;
    if (open != null) {
      return open.updateSSLOptions(new ServerSSLOptions().setKeyCertOptions(certificate));
    }
    var options =
        new HttpServerOptions()
            .setSsl(true)
            .setKeyCertOptions(certificate)
            .setIdleTimeout(IDLE_S_MAX)
            .setMaxChunkSize(CHUNK_BYTES_MAX);
    return listening
        .http1(options, () -> draining, this::handle)
        .listen(SocketAddress.inetSocketAddress(address.port(), address.host()))
        .onSuccess(
            listens -> {
              server = listens;
              LOG.info("serving on {} with {}", address, pair);
            });
  }

  /** -1 before there is a certificate. */
  public int port() {
    HttpServer open = server;
    return open == null ? -1 : open.actualPort();
  }

  /**
   * Closes the connections that clients keep open, and every new connection after its first
   * response. Services are about to remove this process, so clients that reconnect soon reach
   * another one.
   */
  public void startDrain() {
    draining = true;
    listening.closeUnused();
  }

  /**
   * Stops accepting connections. Completes when the requests in flight are answered, or at the time
   * limit.
   */
  public Future<Void> shutDown(long limitMs) {
    HttpServer open = server;
    return open == null ? Future.succeededFuture() : open.shutdown(limitMs, TimeUnit.MILLISECONDS);
  }

  private void handle(HttpServerRequest request) {
    ReviewHandler entry = entries.get(request.path());
    if (entry == null) {
      refuse(request, 404, "there are " + String.join(", ", entries.keySet()));
    } else {
      bodies.read(request, body -> answer(request, entry, body));
    }
  }

  private void answer(HttpServerRequest request, ReviewHandler entry, byte[] body) {
    try {
      switch (entry.review(body)) {
        case ReviewHandler.Answer.Review(Buffer json) ->
            request.response().putHeader("content-type", "application/json").end(json);
        case ReviewHandler.Answer.BadRequest(String reason) -> refuse(request, 400, reason);
      }
    } catch (RuntimeException bug) {
      metrics.count(ReviewKind.of(request.path()), Outcome.FAILED);
      LOG.error("a review failed", bug);
      ReviewBodyReader.refuse(
          request.response(), 500, "the webhook failed on this review; its log says why");
    }
  }

  private void refuse(HttpServerRequest request, int status, String reason) {
    metrics.count(ReviewKind.of(request.path()), Outcome.MALFORMED);
    ReviewBodyReader.refuse(request.response(), status, reason);
  }
}
