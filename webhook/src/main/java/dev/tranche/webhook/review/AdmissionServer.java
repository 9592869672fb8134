package dev.tranche.webhook.review;

import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.ListeningPort;
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

  private final ListeningPort listening;
  private final Map<String, ReviewHandler> entries;
  private final ReviewBodyReader bodies;
  private final WebhookMetrics metrics;
  private final HttpServer server;
  private volatile TlsKeyPair pair;
  private volatile boolean draining;

  /**
   * @param entries the handlers by request path
   * @param pair the key pair to serve with until {@link #serveWith} replaces it
   */
  public AdmissionServer(
      ListeningPort listening,
      Map<String, ReviewHandler> entries,
      ReviewBodyReader bodies,
      WebhookMetrics metrics,
      TlsKeyPair pair) {
    this.listening = listening;
    this.entries = entries;
    this.bodies = bodies;
    this.metrics = metrics;
    this.pair = pair;
    metrics.connections(listening);
    var options =
        new HttpServerOptions()
            .setSsl(true)
            .setKeyCertOptions(keyCert(pair))
            .setIdleTimeout(IDLE_S_MAX)
            .setMaxChunkSize(CHUNK_BYTES_MAX);
    server = listening.http1(options, () -> draining, this::handle);
  }

  public Future<HttpServer> listen(SocketAddress address) {
    return server.listen(address);
  }

  /** Replaces the served certificate for new connections. Open connections keep the old one. */
  public Future<Void> serveWith(TlsKeyPair renewed) {
    return renewed.equals(pair)
        ? Future.succeededFuture()
        : server
            .updateSSLOptions(new ServerSSLOptions().setKeyCertOptions(keyCert(renewed)))
            .onSuccess(changed -> pair = renewed)
            .mapEmpty();
  }

  public int port() {
    return server.actualPort();
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
    return server.shutdown(limitMs, TimeUnit.MILLISECONDS);
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

  private static PemKeyCertOptions keyCert(TlsKeyPair pair) {
    return new PemKeyCertOptions()
        .addCertValue(Buffer.buffer(pair.certificatePem()))
        .addKeyValue(Buffer.buffer(pair.keyPem()));
  }
}
