package dev.tranche.extender.stream;

import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.NodeReportsGrpcService;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.state.SchedulingState;
import dev.tranche.process.TokenBucket;
import dev.tranche.process.TokenBuckets;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.log.LineLimiter;
import dev.tranche.process.loop.Loop;
import dev.tranche.process.settings.HostPort;
import dev.tranche.process.token.BearerToken;
import io.micrometer.core.instrument.Counter;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.ServerSSLOptions;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.common.GrpcStatus;
import io.vertx.grpc.server.GrpcServer;
import io.vertx.grpc.server.GrpcServerOptions;
import io.vertx.grpc.server.GrpcServerRequest;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Takes the nodes' reports: gRPC over TLS, one stream per node, on an event loop of its own. */
public final class StreamServer extends VerticleBase {
  /** More than the report of a node with 10,000 replicas, all held. */
  private static final int MESSAGE_BYTES_MAX = 4 << 20;

  /** Nodes report every 5 s at least; one that misses three is not live. */
  static final long SILENCE_MS = 15_000;

  private static final long SWEEP_MS = 1_000;

  /**
   * Of one stream. A node may send small reports without a pause; newer ones replace older ones.
   */
  private static final long DELIVERED_EVERY_MS = 10;

  /**
   * Of connections without a token so far. Several nodes may share one address behind translation,
   * and all nodes of a cluster may connect at once.
   */
  public static final ConnectionLimits LIMITS = new ConnectionLimits(384, 48).withoutLoopback();

  /**
   * For connections without a stream. A stream is never idle for so long, see {@link #SILENCE_MS}.
   */
  private static final int IDLE_S_MAX = 60;

  /** Of refused tokens of one address. */
  private static final double REVIEWS_PER_S = 1;

  /** As long as the end of a call may take to reach its peer. */
  private static final long ENDED_S_MAX = 1;

  private static final Logger LOG = LoggerFactory.getLogger(StreamServer.class);

  private final HostPort address;
  private final ListeningPort listening;
  private final TokenCheck tokens;
  private final NodeStreams streams;
  private final ReportSink reports;
  private final LongSupplier clockMs;

  /** The units of each node. From a node that has used them up nothing is read. */
  private final TokenBuckets works;

  private final LineLimiter refusalLog = new LineLimiter(LOG, "refused streams of");

  /**
   * The tokens of each address that are reviewed. An accepted token gives back what it took. All
   * nodes that share one address may connect at once.
   */
  private final TokenBuckets reviews;

  private final LineLimiter streamLog = new LineLimiter(LOG, "the streams of node");
  private final Counter delayed;
  private volatile @Nullable HttpServer server;

  /**
   * Where the reports go, on the Ledger's loop.
   *
   * @param others are told of every whole report after the Ledger
   */
  public record ReportSink(
      SchedulingState state,
      BiConsumer<String, NodeReport> others,
      Loop loop,
      LongSupplier clockMs,
      ExtenderMetrics metrics) {}

  /**
   * @param listening a port of the Vert.x instance that this is deployed in
   */
  public StreamServer(
      HostPort address,
      ListeningPort listening,
      TokenCheck tokens,
      NodeStreams streams,
      ReportSink reports) {
    this.address = address;
    this.listening = listening;
    this.tokens = tokens;
    this.streams = streams;
    this.reports = reports;
    this.clockMs = reports.clockMs();
    this.works = new TokenBuckets(ReportBounds.UNITS_BURST, ReportBounds.UNITS_PER_S, clockMs);
    this.reviews = new TokenBuckets(LIMITS.perAddressMax(), REVIEWS_PER_S, clockMs);
    ExtenderMetrics metrics = reports.metrics();
    List.of("refused", "limited", "silent", "oversized", "invalid").forEach(this::ended);
    this.delayed =
        metrics.counter(
            "tranche.extender.reports.delayed",
            "Reports after which no further one of their node was read for a while, because they"
                + " caused too much work.");
  }

  /** Counts the streams that the extender ended for a cause. */
  private Counter ended(String cause) {
    return reports
        .metrics()
        .counter(
            "tranche.extender.streams.ended",
            "Node streams that the extender ended, by cause.",
            "cause",
            cause);
  }

  @Override
  public Future<?> start() {
    vertx.setPeriodic(SWEEP_MS, ignored -> sweep());
    return Future.succeededFuture();
  }

  /** Opens the port. If it is open, renews the certificate for new handshakes. */
  public Future<?> serve(PemKeyCertOptions certificate) {
    HttpServer open = server;
    if (open == null) {
      return new Loop(context)
          .submit(() -> listen(certificate))
          .compose(listens -> listens)
          .onSuccess(listens -> server = listens);
    }
    return open.updateSSLOptions(
        new ServerSSLOptions()
            .setUseAlpn(true)
            .setApplicationLayerProtocols(List.of("h2"))
            .setKeyCertOptions(certificate));
  }

  private Future<HttpServer> listen(PemKeyCertOptions certificate) {
    var grpc =
        GrpcServer.server(vertx, new GrpcServerOptions().setMaxMessageSize(MESSAGE_BYTES_MAX))
            .callHandler(NodeReportsGrpcService.Connect, this::connect);
    return listening
        .grpc(
            new HttpServerOptions().setIdleTimeout(IDLE_S_MAX).setKeyCertOptions(certificate), grpc)
        .listen(SocketAddress.inetSocketAddress(address.port(), address.host()));
  }

  /** -1 before there is a certificate. */
  public int port() {
    HttpServer open = server;
    return open == null ? -1 : open.actualPort();
  }

  private void connect(GrpcServerRequest<NodeReport, NodeDirective> request) {
    request.pause();
    request.errorHandler(error -> LOG.debug("a stream failed: {}", error));
    request.exceptionHandler(lost -> LOG.debug("a stream was lost: {}", lost.toString()));
    Optional<String> token = BearerToken.of(request.headers().get("authorization"));
    if (token.isEmpty()) {
      refuse(request, "metadata authorization: Bearer <token> is missing");
      return;
    }
    String address = request.connection().remoteAddress().hostAddress();
    if (!reviews.of(address).tryAcquire()) {
      ended("limited").increment();
      refuse(request, "too many tokens from this address were refused; another is reviewed soon");
      return;
    }
    // The stream lives as long as its node; the token should not stay in memory.
    request.headers().remove("authorization");
    new Loop(context)
        .completeOnLoop(tokens.identify(token.get()))
        .onSuccess(
            identity -> {
              switch (identity) {
                case TokenCheck.Identity.OfNode(String node) -> {
                  reviews.of(address).giveBack();
                  open(request, node);
                }
                case TokenCheck.Identity.Refused(String why) -> refuse(request, why);
              }
            });
  }

  private void refuse(GrpcServerRequest<NodeReport, NodeDirective> request, String why) {
    ended("refused").increment();
    String address = request.connection().remoteAddress().hostAddress();
    if (refusalLog.tryAcquire(address)) {
      LOG.warn("refused a node's stream from {}: {}", address, why);
    }
    NodeStream.end(request.response(), GrpcStatus.UNAUTHENTICATED, why);
    closeSoon(request.connection());
  }

  /**
   * Closes a connection whose call has ended. A node opens a new one, and a peer that does not end
   * its side would keep the call's head here.
   */
  private void closeSoon(HttpConnection connection) {
    connection.shutdown(ENDED_S_MAX, TimeUnit.SECONDS);
  }

  private void open(GrpcServerRequest<NodeReport, NodeDirective> request, String node) {
    HttpConnection connection = request.connection();
    listening.admit(connection);
    var stream =
        new NodeStream(
            node, vertx, request.response(), () -> closeSoon(connection), clockMs.getAsLong());
    var latestReport =
        new LatestReport(
            node,
            clockMs,
            reports.state()::reported,
            reports.others(),
            reports.loop()::run,
            next ->
                context.runOnContext(
                    ignored -> vertx.setTimer(DELIVERED_EVERY_MS, due -> next.run())),
            stream::closed);
    request.handler(report -> receive(request, stream, latestReport, report));
    request.errorHandler(error -> close(stream, GrpcStatus.CANCELLED, "the node cancelled it"));
    request.exceptionHandler(lost -> close(stream, GrpcStatus.UNAVAILABLE, "it was lost"));
    request.endHandler(end -> close(stream, GrpcStatus.OK, "the node ended it"));
    request.response().exceptionHandler(lost -> close(stream, GrpcStatus.UNAVAILABLE, "lost"));
    streams.opened(stream);
    if (streamLog.tryAcquire(node)) {
      LOG.info("node {} opened its stream", node);
    }
    request.resume();
  }

  private void receive(
      GrpcServerRequest<NodeReport, NodeDirective> request,
      NodeStream stream,
      LatestReport latestReport,
      NodeReport report) {
    if (stream.closed()) {
      return;
    }
    boolean brief = report.getReadingsCount() > 0;
    if (!brief && !report.getNode().equals(stream.node)) {
      String why = "reports are for the node of the token, " + stream.node;
      end(stream, "refused", GrpcStatus.PERMISSION_DENIED, why);
      return;
    }
    Optional<String> mismatch = brief ? stream.briefMismatch(report) : Optional.empty();
    if (mismatch.isPresent()) {
      end(stream, "invalid", GrpcStatus.INVALID_ARGUMENT, mismatch.get());
      return;
    }
    var bounds = ReportBounds.of(report);
    if (bounds.violation().isPresent()) {
      end(stream, "oversized", GrpcStatus.INVALID_ARGUMENT, bounds.violation().get());
      return;
    }
    stream.reported(report, clockMs.getAsLong());
    latestReport.put(report);
    TokenBucket work = works.of(stream.node);
    work.take(bounds.units());
    long waitMs = work.debtMs();
    if (waitMs > 0) {
      delayed.increment();
      request.pause();
      vertx.setTimer(waitMs, due -> request.resume());
    }
  }

  private void end(NodeStream stream, String cause, GrpcStatus status, String why) {
    ended(cause).increment();
    if (refusalLog.tryAcquire(stream.node)) {
      LOG.warn("ended the stream of node {}: {}", stream.node, why);
    }
    close(stream, status, why);
  }

  private void close(NodeStream stream, GrpcStatus status, String why) {
    stream.close(status, why);
    if (streams.closed(stream)) {
      if (streamLog.tryAcquire(stream.node)) {
        LOG.info("the stream of node {} closed: {}", stream.node, why);
      }
      reports.loop().run(() -> reports.state().apply(new Event.StreamLost(stream.node)));
    }
  }

  private void sweep() {
    long nowMs = clockMs.getAsLong();
    long deadlineMs = nowMs - SILENCE_MS;
    for (NodeStream stream : streams.open()) {
      if (stream.silentSince(deadlineMs)) {
        ended("silent").increment();
        close(stream, GrpcStatus.DEADLINE_EXCEEDED, "no report for " + SILENCE_MS / 1_000 + " s");
      }
    }
  }
}
