package dev.tranche.extender.stream;

import dev.tranche.api.listen.ConnectionLimiter;
import dev.tranche.api.listen.ConnectionLimits;
import dev.tranche.api.listen.LimitedTransport;
import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.NodeReportsGrpcService;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.state.Loop;
import dev.tranche.extender.state.StateWriter;
import io.micrometer.core.instrument.Counter;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.http.Http2Settings;
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
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Takes the nodes' reports: gRPC over TLS, one stream per node, on an event loop of its own. */
public final class StreamServer extends VerticleBase {
  /** A node of 10,000 replicas, all held, echoes less. */
  private static final int MESSAGE_BYTES_MAX = 4 << 20;

  /** Nodes report every 5 s at least; one that misses three is not live. */
  static final long SILENCE_MS = 15_000;

  private static final long SWEEP_MS = 1_000;

  /** Reports wait so long for others to be handed over with. */
  private static final long GATHERED_MS = 10;

  /** Behind an address translation several nodes may share one. */
  static final int PER_ADDRESS_MAX = 256;

  /** Every node has one; one more each while they reconnect. */
  private static final int CONNECTIONS_MAX = 20_000;

  /** All nodes of a cluster may shake hands at once. */
  private static final long FIRST_REQUEST_MS = 30_000;

  private static final long IDLE_MS = 120_000;

  public static final ConnectionLimits LIMITS =
      new ConnectionLimits(CONNECTIONS_MAX, PER_ADDRESS_MAX, FIRST_REQUEST_MS, IDLE_MS)
          .withoutLoopback();

  /** A node has one stream, and for a moment another. */
  private static final long STREAMS_PER_CONNECTION_MAX = 4;

  /** A connection that brings no stream is silent; a stream is not, see above. */
  private static final int IDLE_S_MAX = 60;

  /** Reports of that size are taken however much others report. */
  private static final int FAIR_BYTES = 64 << 10;

  /** What is kept of reports takes several times their size. */
  private static final long KEPT_BYTES_MAX = Runtime.getRuntime().maxMemory() / 16;

  private static final String BEARER = "Bearer ";
  private static final Logger LOG = LoggerFactory.getLogger(StreamServer.class);

  private final SocketAddress address;
  private final LimitedTransport transport;
  private final ConnectionLimiter connections;
  private final PemKeyCertOptions certificate;
  private final TokenCheck tokens;
  private final NodeStreams streams;
  private final StateWriter state;
  private final EventBatcher ledger;
  private final ReportListener others;
  private final LongSupplier clockMs;
  private final Counter refused;
  private final Counter silent;
  private final Counter oversized;
  private final Counter invalid;
  private final Counter hasty;

  /** By node; of those that have reported fast of late. */
  private final Map<String, ReportRate> rates = new HashMap<>();

  private final RefusalLogLimiter callers = new RefusalLogLimiter();
  private final ReviewLimiter reviews = new ReviewLimiter();
  private final Counter limited;
  private @Nullable HttpServer server;

  /**
   * @param transport of the Vert.x that this is deployed to
   * @param others hear every report after the Ledger
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
    this.ledger =
        new EventBatcher(task -> vertx.setTimer(GATHERED_MS, over -> task.run()), ledgerLoop::run);
    this.others = others;
    this.clockMs = clockMs;
    String help = "Node streams that the extender ended, by cause.";
    this.refused = metrics.counter("tranche.extender.streams.ended", help, "cause", "refused");
    this.limited = metrics.counter("tranche.extender.streams.ended", help, "cause", "limited");
    this.silent = metrics.counter("tranche.extender.streams.ended", help, "cause", "silent");
    this.oversized = metrics.counter("tranche.extender.streams.ended", help, "cause", "oversized");
    this.hasty = metrics.counter("tranche.extender.streams.ended", help, "cause", "hasty");
    this.invalid = metrics.counter("tranche.extender.streams.ended", help, "cause", "invalid");
  }

  @Override
  public Future<?> start() {
    var grpc =
        GrpcServer.server(vertx, new GrpcServerOptions().setMaxMessageSize(MESSAGE_BYTES_MAX))
            .callHandler(NodeReportsGrpcService.Connect, this::connect);
    server =
        vertx
            .createHttpServer(
                transport.limit(
                    new HttpServerOptions()
                        .setSsl(true)
                        .setUseAlpn(true)
                        .setIdleTimeout(IDLE_S_MAX)
                        .setInitialSettings(
                            new Http2Settings()
                                .setMaxConcurrentStreams(STREAMS_PER_CONNECTION_MAX)
                                // One call per connection: nothing in its headers comes
                                // twice, least of all the token.
                                .setHeaderTableSize(0))
                        .setKeyCertOptions(certificate),
                    "stream",
                    connections))
            .requestHandler(
                request -> {
                  connections.requested(request.remoteAddress());
                  grpc.handle(request);
                });
    vertx.setPeriodic(SWEEP_MS, ignored -> sweep());
    return server.listen(address);
  }

  public int port() {
    return server == null ? -1 : server.actualPort();
  }

  /** New handshakes use it; open streams go on. */
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
    String authorization = request.headers().get("authorization");
    if (authorization == null || !authorization.startsWith(BEARER)) {
      refuse(request, "metadata authorization: Bearer <token> is missing");
      return;
    }
    String address = request.connection().remoteAddress().hostAddress();
    if (!reviews.tryAcquire(address, clockMs.getAsLong())) {
      limited.increment();
      refuse(request, "too many tokens from this address were refused; another is reviewed soon");
      return;
    }
    // A stream lives for as long as its node: its token need not.
    request.headers().remove("authorization");
    var here = new Loop(context);
    here.here(tokens.identify(authorization.substring(BEARER.length())))
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
    if (callers.worthALine(address, clockMs.getAsLong())) {
      LOG.warn("refused a node's stream from {}: {}", address, why);
    }
    Streams.end(request.response(), GrpcStatus.UNAUTHENTICATED, why);
  }

  private void open(GrpcServerRequest<NodeReport, NodeDirective> request, String node) {
    var stream = new NodeStream(node, vertx, request.response(), clockMs.getAsLong());
    var inbox = new Inbox(node, clockMs, state::reported, others, ledger);
    SocketAddress remote = request.connection().remoteAddress();
    request.handler(
        report -> {
          connections.requested(remote);
          take(stream, inbox, report);
        });
    request.errorHandler(error -> close(stream, GrpcStatus.CANCELLED, "the node cancelled it"));
    request.exceptionHandler(lost -> close(stream, GrpcStatus.UNAVAILABLE, "it was lost"));
    request.endHandler(end -> close(stream, GrpcStatus.OK, "the node ended it"));
    request.response().exceptionHandler(lost -> close(stream, GrpcStatus.UNAVAILABLE, "lost"));
    streams.opened(stream);
    LOG.info("node {} opened its stream", node);
    request.resume();
  }

  private void take(NodeStream stream, Inbox inbox, NodeReport report) {
    if (stream.closed()) {
      return;
    }
    boolean brief = report.getReadingsCount() > 0;
    if (!brief && !report.getNode().equals(stream.node)) {
      refused.increment();
      if (callers.worthALine(stream.node, clockMs.getAsLong())) {
        LOG.warn(
            "refused a report of node {} that names node \"{}\"", stream.node, report.getNode());
      }
      String why = "reports are for the node of the token, " + stream.node;
      close(stream, GrpcStatus.PERMISSION_DENIED, why);
      return;
    }
    Optional<String> tooFast =
        rate(stream.node).take(report.getSerializedSize(), clockMs.getAsLong());
    if (tooFast.isPresent()) {
      end(stream, hasty, GrpcStatus.RESOURCE_EXHAUSTED, tooFast.get());
      return;
    }
    Optional<String> unlike = brief ? stream.unlike(report) : Optional.empty();
    if (unlike.isPresent()) {
      end(stream, invalid, GrpcStatus.INVALID_ARGUMENT, unlike.get());
      return;
    }
    Optional<String> broken =
        ReportBounds.broken(report).or(() -> tooMuchInAll(stream.node, report));
    if (broken.isPresent()) {
      end(stream, oversized, GrpcStatus.INVALID_ARGUMENT, broken.get());
      return;
    }
    stream.reported(report, clockMs.getAsLong());
    inbox.put(report);
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
        "a report of %d bytes is too large while others' take %d beyond the %d that each may have; %d are allowed in all; give the extender more memory"
            .formatted(size, others, FAIR_BYTES, KEPT_BYTES_MAX));
  }

  private void end(NodeStream stream, Counter cause, GrpcStatus status, String why) {
    cause.increment();
    if (callers.worthALine(stream.node, clockMs.getAsLong())) {
      LOG.warn("ended the stream of node {}: {}", stream.node, why);
    }
    close(stream, status, why);
  }

  private void close(NodeStream stream, GrpcStatus status, String why) {
    stream.close(status, why);
    if (streams.closed(stream)) {
      LOG.info("the stream of node {} closed: {}", stream.node, why);
      // After its last report, which may be waiting.
      ledger.execute(() -> state.apply(new Event.StreamLost(stream.node)));
    }
  }

  private void sweep() {
    long nowMs = clockMs.getAsLong();
    rates.values().removeIf(rate -> rate.full(nowMs));
    long deadlineMs = nowMs - SILENCE_MS;
    for (NodeStream stream : List.copyOf(streams.open())) {
      if (stream.silentSince(deadlineMs)) {
        silent.increment();
        close(stream, GrpcStatus.DEADLINE_EXCEEDED, "no report for " + SILENCE_MS / 1_000 + " s");
      }
    }
  }

  @Override
  public Future<?> stop() {
    // Streams that end with us are told of too: no timer of ours runs after this.
    return server == null
        ? Future.succeededFuture()
        : server.close().onComplete(v -> ledger.hand());
  }
}
