package dev.tranche.nodeplugin.stream;

import dev.tranche.api.Backoff;
import dev.tranche.api.BriefReports;
import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.NodeReportsGrpcClient;
import dev.tranche.process.loop.MonotonicClock;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.client.GrpcClient;
import io.vertx.grpc.client.GrpcClientOptions;
import io.vertx.grpc.client.GrpcClientRequest;
import io.vertx.grpc.client.GrpcClientResponse;
import io.vertx.grpc.common.GrpcStatus;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The stream to one extender replica. It reopens after every end, with backoff and with freshly
 * read credentials. Only the latest report waits to be sent. Confined to the event loop.
 */
final class ReportStream {
  private static final Logger LOG = LoggerFactory.getLogger(ReportStream.class);
  private static final int CONNECT_LIMIT_MS = 5_000;
  private static final int PONG_LIMIT_MS = 10_000;
  // A stream that lived this long was accepted; its end does not mean that the next is refused.
  private static final int SETTLED_MS = 10_000;
  private static final int BACKOFF_MIN_MS = 250;
  private static final int BACKOFF_MAX_MS = 15_000;
  private static final long DIRECTIVE_MAX_BYTES = 4 << 20;

  private final StreamParts parts;
  private final InetSocketAddress replica;

  private @Nullable GrpcClient client;
  private @Nullable GrpcClientRequest<NodeReport, NodeDirective> request;
  private long sequence;
  private long applied;
  private Future<Void> writing = Future.succeededFuture();
  private BriefReports brief = new BriefReports();
  // The report that follows the one being written.
  private @Nullable Future<Void> following;
  private boolean stopped;
  private final Backoff backoff = new Backoff(BACKOFF_MIN_MS, BACKOFF_MAX_MS);
  private long openedAtMs;
  // Distinguishes the ends of one connection from those of the next.
  private int generation;

  /**
   * @param replica one address, with the host name that the certificate must have
   */
  ReportStream(StreamParts parts, InetSocketAddress replica) {
    this.parts = parts;
    this.replica = replica;
  }

  boolean connected() {
    return request != null;
  }

  void connect() {
    int streamGeneration = ++generation;
    parts
        .vertx()
        .executeBlocking(() -> Credentials.read(parts.options()), false)
        .compose(this::open)
        .timeout(CONNECT_LIMIT_MS, TimeUnit.MILLISECONDS)
        .onSuccess(opened -> opened(streamGeneration, opened))
        .onFailure(failure -> ended(streamGeneration, message(failure)));
  }

  private Future<GrpcClientRequest<NodeReport, NodeDirective>> open(Credentials credentials) {
    if (stopped) {
      return Future.failedFuture("stopped");
    }
    var messages = new GrpcClientOptions().setMaxMessageSize(DIRECTIVE_MAX_BYTES);
    GrpcClient fresh = GrpcClient.client(parts.vertx(), messages, tls(credentials));
    client = fresh;
    return fresh
        .request(SocketAddress.inetSocketAddress(replica), NodeReportsGrpcClient.Connect)
        .onSuccess(r -> r.headers().set("authorization", "Bearer " + credentials.token()));
  }

  private static HttpClientOptions tls(Credentials credentials) {
    return new HttpClientOptions()
        .setProtocolVersion(HttpVersion.HTTP_2)
        .setSsl(true)
        .setUseAlpn(true)
        .setVerifyHost(true)
        .setConnectTimeout(CONNECT_LIMIT_MS)
        .setTrustOptions(new PemTrustOptions().addCertValue(credentials.caPem()));
  }

  private void opened(int streamGeneration, GrpcClientRequest<NodeReport, NodeDirective> opened) {
    if (streamGeneration != generation || stopped) {
      opened.cancel();
      return;
    }
    LOG.info("connected to extender {}", replica);
    request = opened;
    openedAtMs = MonotonicClock.ms();
    sequence = 0;
    applied = 0;
    brief = new BriefReports();
    writing = Future.succeededFuture();
    following = null;
    opened.exceptionHandler(failure -> ended(streamGeneration, message(failure)));
    opened
        .response()
        .onSuccess(response -> answered(streamGeneration, response))
        .onFailure(failure -> ended(streamGeneration, message(failure)));
    send();
  }

  private void answered(
      int streamGeneration, GrpcClientResponse<NodeReport, NodeDirective> response) {
    response.handler(this::applyDirective);
    response.exceptionHandler(failure -> ended(streamGeneration, message(failure)));
    response.endHandler(
        v ->
            ended(
                streamGeneration,
                response.status() == GrpcStatus.OK
                    ? "the extender ended it"
                    : response.status() + ": " + message(response)));
  }

  // Vert.x reads the message from headers only, where it is if a call ends before it began.
  private static String message(GrpcClientResponse<NodeReport, NodeDirective> response) {
    String ofHeaders = response.statusMessage();
    String ofTrailers = response.trailers().get("grpc-message");
    if (ofHeaders != null || ofTrailers == null) {
      return String.valueOf(ofHeaders);
    }
    try {
      return URLDecoder.decode(ofTrailers.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException raw) {
      return ofTrailers;
    }
  }

  private void applyDirective(NodeDirective directive) {
    parts.exchange().apply(directive);
    applied = Math.max(applied, directive.getSequence());
    send();
  }

  /**
   * Sends the latest state, now or as soon as the report in progress is written. Completes when
   * that state is written.
   */
  Future<Void> send() {
    if (request == null) {
      return Future.succeededFuture();
    }
    if (!writing.isComplete()) {
      following = following == null ? writing.transform(done -> sendNext()) : following;
      return following;
    }
    int streamGeneration = generation;
    NodeReport report =
        parts.exchange().report().setSequence(++sequence).setAppliedDirective(applied).build();
    writing =
        write(request, brief.of(report))
            .onComplete(done -> written(streamGeneration, done.succeeded()));
    return writing;
  }

  private Future<Void> sendNext() {
    following = null;
    return send();
  }

  private Future<Void> write(GrpcClientRequest<NodeReport, NodeDirective> to, NodeReport report) {
    try {
      return to.write(report);
    } catch (IllegalStateException cancelled) {
      return Future.failedFuture(cancelled);
    }
  }

  private void written(int streamGeneration, boolean succeeded) {
    if (streamGeneration != generation) {
      return;
    }
    String outcome = succeeded ? "written" : "failed";
    parts.metrics().count("tranche.node.reports", "Reports to extenders.", "outcome", outcome);
    if (!succeeded) {
      ended(streamGeneration, "a report could not be written");
    }
  }

  /** Sends a report even if nothing has changed, and finds out whether the other side is alive. */
  void heartbeat() {
    if (request != null) {
      int streamGeneration = generation;
      send();
      request
          .connection()
          .ping(Buffer.buffer(new byte[Long.BYTES]))
          .timeout(PONG_LIMIT_MS, TimeUnit.MILLISECONDS)
          .onFailure(
              failure -> ended(streamGeneration, "it does not answer: " + failure.getMessage()));
    }
  }

  private void ended(int streamGeneration, String reason) {
    if (streamGeneration != generation) {
      return;
    }
    generation++;
    if (request != null && MonotonicClock.ms() - openedAtMs > SETTLED_MS) {
      backoff.reset();
    }
    request = null;
    if (client != null) {
      client.close();
      client = null;
    }
    if (!stopped) {
      reconnectLater(reason);
    }
  }

  private void reconnectLater(String reason) {
    long waitMs = backoff.nextWithJitter();
    parts
        .metrics()
        .count("tranche.node.stream.ends", "Streams to extenders that ended or never opened.");
    LOG.warn("the stream to extender {} ended, retrying in {} ms: {}", replica, waitMs, reason);
    parts.vertx().setTimer(waitMs, id -> connect());
  }

  // A TLS failure says what is wrong only in its cause.
  private static String message(Throwable failure) {
    Throwable cause = failure.getCause();
    return cause == null ? failure.toString() : failure + ": " + cause.getMessage();
  }

  void stop() {
    stopped = true;
    ended(generation, "stopped");
  }
}
