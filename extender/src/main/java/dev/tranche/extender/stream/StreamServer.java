package dev.tranche.extender.stream;

import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.NodeReportsGrpcService;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.state.StateWriter;
import dev.tranche.process.listen.ConnectionLimiter;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.log.LineLimiter;
import dev.tranche.process.loop.Loop;
import dev.tranche.process.token.BearerToken;
import dev.tranche.process.token.ReviewLimiter;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
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

  /** How long reports are collected before they are handed over together. */
  private static final long BATCH_MS = 10;

  /** Without a token so far, from one address. Several nodes may share one behind translation. */
  static final int PER_ADDRESS_MAX = 48;

  /** Without a token so far. When all nodes of a cluster connect at once, the others wait. */
  private static final int CONNECTIONS_MAX = 128;

  /** Accepted connections that wait; the nodes beyond them try again after some seconds. */
  private static final int WAITING_MAX = 4_096;

  /** With a node's token. Each node has one connection, and a second one while it reconnects. */
  private static final int ADMITTED_MAX = 20_000;

  /** Long, since all nodes of a cluster may do the TLS handshake at once. */
  private static final long FIRST_REQUEST_MS = 30_000;

  /** The API server may be slow to review the tokens of all nodes at once. */
  private static final long SAFE_MS = 10_000;

  private static final long IDLE_MS = 120_000;

  public static final ConnectionLimits LIMITS =
      new ConnectionLimits(
          CONNECTIONS_MAX,
          PER_ADDRESS_MAX,
          FIRST_REQUEST_MS,
          IDLE_MS,
          false,
          SAFE_MS,
          WAITING_MAX,
          ADMITTED_MAX);

  /**
   * For connections without a stream. A stream is never idle for so long, see {@link #SILENCE_MS}.
   */
  private static final int IDLE_S_MAX = 60;

  /** The allowance of each node: a report of this size is accepted whatever others report. */
  private static final int FAIR_BYTES = 64 << 10;

  /**
   * The limit for reports beyond each node's allowance. The objects that are kept of them take
   * several times their size.
   */
  private static final long KEPT_BYTES_MAX = Runtime.getRuntime().maxMemory() / 16;

  /** The limit for the objects that are made of all nodes' last whole reports. */
  static final long OBJECTS_BYTES_MAX = Runtime.getRuntime().maxMemory() / 2;

  /** As long as the end of a call may take to reach its peer. */
  private static final long ENDED_S_MAX = 1;

  private static final Logger LOG = LoggerFactory.getLogger(StreamServer.class);

  private final SocketAddress address;
  private final LimitedTransport transport;
  private final ConnectionLimiter connections;
  private final PemKeyCertOptions certificate;
  private final TokenCheck tokens;
  private final NodeStreams streams;
  private final StateWriter state;
  private final EventBatcher batcher;
  private final ReportListener others;
  private final LongSupplier clockMs;
  private final Counter refused;
  private final Counter silent;
  private final Counter unreported;
  private final Counter oversized;
  private final Counter invalid;
  private final Counter tooFast;

  /** By node, for nodes with a stream and those that have reported fast recently. */
  private final Map<String, ReportRate> rates = new HashMap<>();

  /** By node, for nodes whose reports have caused work recently. */
  private final Map<String, ReportWork> works = new HashMap<>();

  private final ReportTurns turns;
  private final KeptReports kept = new KeptReports(OBJECTS_BYTES_MAX);
  private final RefusalLogLimiter refusalLog = new RefusalLogLimiter();

  /** All nodes that share one address may connect at once. */
  private final ReviewLimiter reviews = new ReviewLimiter(PER_ADDRESS_MAX);

  private final LineLimiter streamLog;
  private final Counter limited;
  private @Nullable HttpServer server;

  /**
   * @param transport of the Vert.x instance that this is deployed in
   * @param others receives every report after the Ledger
   */
  public StreamServer(
      SocketAddress address,
      LimitedTransport transport,
      ConnectionLimiter connections,
      PemKeyCertOptions certificate,
      TokenCheck tokens,
      NodeStreams streams,
      StateWriter state,
      Loop ledgerLoop,
      ReportListener others,
      ExtenderMetrics metrics,
      LongSupplier clockMs) {
    this.address = address;
    this.transport = transport;
    this.connections = connections;
    this.certificate = certificate;
    this.tokens = tokens;
    this.streams = streams;
    this.state = state;
    this.batcher =
        new EventBatcher(task -> vertx.setTimer(BATCH_MS, elapsed -> task.run()), ledgerLoop::run);
    this.others = others;
    this.clockMs = clockMs;
    this.streamLog = new LineLimiter(LOG, "the streams of node", clockMs);
    String help = "Node streams that the extender ended, by cause.";
    this.refused = metrics.counter("tranche.extender.streams.ended", help, "cause", "refused");
    this.limited = metrics.counter("tranche.extender.streams.ended", help, "cause", "limited");
    this.silent = metrics.counter("tranche.extender.streams.ended", help, "cause", "silent");
    this.unreported =
        metrics.counter("tranche.extender.streams.ended", help, "cause", "unreported");
    this.oversized = metrics.counter("tranche.extender.streams.ended", help, "cause", "oversized");
    this.tooFast = metrics.counter("tranche.extender.streams.ended", help, "cause", "rate_limited");
    Counter delayed =
        metrics.counter(
            "tranche.extender.reports.delayed",
            "Reports that were applied later, because the reports of their node or of all nodes caused too much work.");
    this.turns =
        new ReportTurns(
            clockMs,
            this::run,
            (ms, task) -> vertx.setTimer(ms, due -> task.run()),
            delayed::increment);
    metrics.gauge(
        "tranche.extender.reports.waiting",
        "Nodes whose latest report waits for its turn, because all nodes' reports cause much work.",
        turns::waiting);
    metrics.gauge(
        "tranche.extender.reports.objects.bytes",
        "Estimated memory of the last whole reports of all nodes; bounded.",
        kept::bytes);
    this.invalid = metrics.counter("tranche.extender.streams.ended", help, "cause", "invalid");
  }

  @Override
  public Future<?> start() {
    var grpc =
        GrpcServer.server(vertx, new GrpcServerOptions().setMaxMessageSize(MESSAGE_BYTES_MAX))
            .callHandler(NodeReportsGrpcService.Connect, this::connect);
    server =
        new ListeningPort(vertx, transport, "stream", connections)
            .grpc(
                new HttpServerOptions().setIdleTimeout(IDLE_S_MAX).setKeyCertOptions(certificate),
                grpc);
    vertx.setPeriodic(SWEEP_MS, ignored -> sweep());
    return server.listen(address);
  }

  public int port() {
    return server == null ? -1 : server.actualPort();
  }

  /** Renews the certificate for new handshakes; open streams continue. */
  public Future<Boolean> renew(PemKeyCertOptions renewed) {
    return server == null
        ? Future.succeededFuture(false)
        : server.updateSSLOptions(
            new ServerSSLOptions()
                .setUseAlpn(true)
                .setApplicationLayerProtocols(List.of("h2"))
                .setKeyCertOptions(renewed));
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
    if (!reviews.tryAcquire(address, clockMs.getAsLong())) {
      limited.increment();
      refuse(request, "too many tokens from this address were refused; another is reviewed soon");
      return;
    }
    // The stream lives as long as its node; the token should not stay in memory.
    request.headers().remove("authorization");
    var loop = new Loop(context);
    loop.completeOnLoop(tokens.identify(token.get()))
        .onSuccess(
            identity -> {
              switch (identity) {
                case TokenCheck.Identity.OfNode(String node) -> {
                  reviews.accepted(address);
                  open(request, node);
                }
                case TokenCheck.Identity.Refused(String why) -> refuse(request, why);
              }
            })
        .onFailure(bug -> refuse(request, "the token could not be checked"));
  }

  private void refuse(GrpcServerRequest<NodeReport, NodeDirective> request, String why) {
    refused.increment();
    String address = request.connection().remoteAddress().hostAddress();
    if (refusalLog.tryAcquire(address, clockMs.getAsLong())) {
      LOG.warn("refused a node's stream from {}: {}", address, why);
    }
    Streams.end(request.response(), GrpcStatus.UNAUTHENTICATED, why);
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
    if (!connections.admit(connection.remoteAddress())) {
      refuse(request, "more than %d nodes are connected".formatted(ADMITTED_MAX));
      return;
    }
    var stream =
        new NodeStream(
            node, vertx, request.response(), () -> closeSoon(connection), clockMs.getAsLong());
    var latestReport =
        new LatestReport(
            node,
            clockMs,
            state::reported,
            others,
            batcher,
            this::run,
            stream::closed,
            works.computeIfAbsent(node, first -> new ReportWork(clockMs.getAsLong())),
            turns);
    SocketAddress remote = connection.remoteAddress();
    request.handler(
        report -> {
          connections.recordActivity(remote);
          receive(stream, latestReport, report, remote.hostAddress());
        });
    request.errorHandler(error -> close(stream, GrpcStatus.CANCELLED, "the node cancelled it"));
    request.exceptionHandler(lost -> close(stream, GrpcStatus.UNAVAILABLE, "it was lost"));
    request.endHandler(end -> close(stream, GrpcStatus.OK, "the node ended it"));
    request.response().exceptionHandler(lost -> close(stream, GrpcStatus.UNAVAILABLE, "lost"));
    streams
        .opened(stream)
        .ifPresent(
            oldest ->
                end(
                    oldest,
                    unreported,
                    GrpcStatus.RESOURCE_EXHAUSTED,
                    "the node has opened more than %d streams without a report"
                        .formatted(NodeStreams.UNREPORTED_MAX)));
    request.resume();
  }

  private void receive(
      NodeStream stream, LatestReport latestReport, NodeReport report, String address) {
    if (stream.closed()) {
      return;
    }
    boolean brief = report.getReadingsCount() > 0;
    if (!brief && !report.getNode().equals(stream.node)) {
      refused.increment();
      if (refusalLog.tryAcquire(stream.node, clockMs.getAsLong())) {
        LOG.warn(
            "refused a report of node {} that names node \"{}\"", stream.node, report.getNode());
      }
      String why = "reports are for the node of the token, " + stream.node;
      close(stream, GrpcStatus.PERMISSION_DENIED, why);
      return;
    }
    Optional<String> rateViolation =
        rate(stream.node).take(address, report.getSerializedSize(), clockMs.getAsLong());
    if (rateViolation.isPresent()) {
      end(stream, tooFast, GrpcStatus.RESOURCE_EXHAUSTED, rateViolation.get());
      return;
    }
    Optional<String> mismatch = brief ? stream.briefMismatch(report) : Optional.empty();
    if (mismatch.isPresent()) {
      end(stream, invalid, GrpcStatus.INVALID_ARGUMENT, mismatch.get());
      return;
    }
    Optional<String> violation =
        ReportBounds.violation(report)
            .or(() -> tooMuchInAll(stream.node, report))
            .or(() -> takePlace(stream, report, brief));
    if (violation.isPresent()) {
      end(stream, oversized, GrpcStatus.INVALID_ARGUMENT, violation.get());
      return;
    }
    stream.reported(report, clockMs.getAsLong());
    latestReport.put(report);
  }

  /** The report is valid; only the memory for it may be missing. */
  private Optional<String> takePlace(NodeStream stream, NodeReport report, boolean brief) {
    if (streams.reported(stream) && streamLog.tryAcquire(stream.node)) {
      LOG.info("node {} opened its stream", stream.node);
    }
    return brief ? Optional.empty() : makeRoom(stream.node, report);
  }

  private void run(Runnable task) {
    context.runOnContext(ignored -> task.run());
  }

  private ReportRate rate(String node) {
    return rates.computeIfAbsent(node, first -> new ReportRate(clockMs.getAsLong()));
  }

  private Optional<String> tooMuchInAll(String node, NodeReport report) {
    int size = report.getSerializedSize();
    if (size <= FAIR_BYTES) {
      return Optional.empty();
    }
    long others = streams.largeBytes(node, FAIR_BYTES);
    if (others + size - FAIR_BYTES <= KEPT_BYTES_MAX) {
      return Optional.empty();
    }
    return Optional.of(
        "a report of %d bytes is too large while others' take %d beyond the %d that each may have; %d are allowed in total; give the extender more memory"
            .formatted(size, others, FAIR_BYTES, KEPT_BYTES_MAX));
  }

  /** Ends the streams with the largest reports if there is no memory for all. */
  private Optional<String> makeRoom(String node, NodeReport report) {
    String why =
        "the nodes' reports take more memory than the %d bytes that they may, and this node's is one of the largest; give the extender more memory"
            .formatted(OBJECTS_BYTES_MAX);
    Set<String> without = kept.put(node, report);
    for (String other : without) {
      NodeStream largest = streams.get(other);
      if (largest != null && !other.equals(node)) {
        end(largest, oversized, GrpcStatus.RESOURCE_EXHAUSTED, why);
      }
    }
    return without.contains(node) ? Optional.of(why) : Optional.empty();
  }

  private void end(NodeStream stream, Counter cause, GrpcStatus status, String why) {
    cause.increment();
    if (refusalLog.tryAcquire(stream.node, clockMs.getAsLong())) {
      LOG.warn("ended the stream of node {}: {}", stream.node, why);
    }
    close(stream, status, why);
  }

  private void close(NodeStream stream, GrpcStatus status, String why) {
    stream.close(status, why);
    if (streams.closed(stream)) {
      kept.remove(stream.node);
      if (streamLog.tryAcquire(stream.node)) {
        LOG.info("the stream of node {} closed: {}", stream.node, why);
      }
      // By way of the batch, so that it is applied after the stream's last report.
      batcher.execute(() -> state.apply(new Event.StreamLost(stream.node)));
    }
  }

  private void sweep() {
    long nowMs = clockMs.getAsLong();
    streamLog.endPeriods();
    // Which address came first must not be forgotten while the node reports.
    rates.entrySet().removeIf(e -> !streams.has(e.getKey()) && e.getValue().isRefilled(nowMs));
    works.entrySet().removeIf(e -> !streams.has(e.getKey()) && e.getValue().isRefilled(nowMs));
    long deadlineMs = nowMs - SILENCE_MS;
    for (NodeStream stream : streams.open()) {
      if (stream.silentSince(deadlineMs)) {
        silent.increment();
        close(stream, GrpcStatus.DEADLINE_EXCEEDED, "no report for " + SILENCE_MS / 1_000 + " s");
      }
    }
  }

  @Override
  public Future<?> stop() {
    // Hands over the loss of these streams too, since no timer runs after this.
    return server == null
        ? Future.succeededFuture()
        : server.close().onComplete(v -> batcher.flush());
  }
}
