package dev.tranche.extender.readapi;

import com.github.benmanes.caffeine.cache.Ticker;
import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.InvariantCheck;
import dev.tranche.extender.explain.WhatIf;
import dev.tranche.extender.history.GpuHistory;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.readapi.access.Access;
import dev.tranche.extender.readapi.row.Explain;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.extender.readapi.stream.EventStream;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.extender.selection.PodSelection;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.loop.Loop;
import dev.tranche.process.meters.Meters;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.SocketAddress;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The read API's two ports. The answers name the pods of all tenants, so remote callers need a
 * token that may read them. Callers from loopback use {@code kubectl port-forward}, which the API
 * server has authorized.
 */
public final class ReadApi {
  /** Web pages that read the stream may all connect through one ingress controller. */
  public static final ConnectionLimits REMOTE = ConnectionLimits.of(96, 80);

  /** All connections come from one address. */
  public static final ConnectionLimits LOCAL = ConnectionLimits.of(96, 96);

  private static final int IDLE_S_MAX = 60;
  private static final long ANSWERED_MS_MAX = 10_000;

  private final Optional<HistorySampler> sampler;
  private final InvariantSampler invariants;
  private final ReadApiPort remote;
  private final ReadApiPort local;

  /**
   * What the answers are made from.
   *
   * @param notReady what is not known yet, as a sentence; empty when ready; called on the loop
   * @param schedulerMessages why kube-scheduler has not placed a pod, by {@code namespace/name}
   * @param filters which nodes a pod excludes, by {@code namespace/name}; empty where the API
   *     server does not say
   * @param whatIf called on a worker; it asks the loop for what it needs
   * @param selections which nodes a pod excludes, by the fields of a posted pod
   * @param resources GPU resources that pods may request
   * @param historyBytesMax maximum size of the history of GPUs; 0 to keep none
   * @param clusterName shown on the web page; may be empty
   * @param ledger read on the loop
   */
  public record Sources(
      Supplier<Loop> loop,
      InspectionCache inspections,
      Supplier<Optional<String>> notReady,
      Explain explain,
      Explanations explanations,
      Function<String, Future<Optional<String>>> schedulerMessages,
      Function<String, Future<Optional<NodeFilter>>> filters,
      Supplier<WhatIf> whatIf,
      Function<PodSelection, NodeFilter> selections,
      List<String> resources,
      long historyBytesMax,
      String clusterName,
      Ledger ledger,
      LongSupplier clockMs) {}

  /**
   * @param transport the transport of {@code vertx}
   * @param remote address for remote callers; null to open no port
   * @param local loopback address; null to open no port
   * @param limits of a port's connections, from those that are shipped
   * @param clusterRole ClusterRole that grants access to remote callers
   */
  public ReadApi(
      Vertx vertx,
      LimitedTransport transport,
      @Nullable SocketAddress remote,
      @Nullable SocketAddress local,
      UnaryOperator<ConnectionLimits> limits,
      String clusterRole,
      Access.Reviews reviews,
      Sources sources,
      Meters metrics) {
    var access = new Access(reviews, clusterRole, Ticker.systemTicker());
    var counted = new ReadApiMetrics(metrics);
    var reasons = new WaitingReasons(sources.explanations());
    // Without a port nobody could read the history.
    boolean isRead = remote != null || local != null;
    Optional<GpuHistory> history = history(isRead ? sources.historyBytesMax() : 0, metrics);
    this.sampler = history.map(kept -> sampler(vertx, kept, sources));
    this.invariants =
        new InvariantSampler(
            vertx,
            sources.loop(),
            sources.notReady(),
            new InvariantCheck(sources.ledger(), sources.clockMs()));
    Answers answers = answers(vertx, sources, reasons, history, invariants);
    var stream =
        new EventStream(
            vertx,
            sources.inspections()::latest,
            answers::snapshot,
            reasons,
            sources.clusterName(),
            sources.clockMs(),
            metrics);
    var rendering = new Rendering(answers);
    Endpoint.Guard byToken =
        (request, route) ->
            access.refusal(
                request.getHeader("Authorization"),
                route.verb(),
                route.nonResourcePath(),
                request.connection().remoteAddress().hostAddress());
    var remoteEndpoint =
        new Endpoint(vertx, rendering::of, byToken, stream::join, ANSWERED_MS_MAX, counted);
    var localEndpoint =
        new Endpoint(
            vertx, rendering::of, new LocalHosts(), stream::join, ANSWERED_MS_MAX, counted);
    this.remote =
        new ReadApiPort(
            vertx, transport, "api", remote, limits.apply(REMOTE), remoteEndpoint, metrics);
    this.local =
        new ReadApiPort(
            vertx, transport, "api-local", local, limits.apply(LOCAL), localEndpoint, metrics);
    metrics.gauge(
        "tranche.extender.read.api.in.flight",
        "Requests of the read API in progress; bounded.",
        () -> remoteEndpoint.inFlight() + localEndpoint.inFlight());
    metrics.gauge(
        "tranche.extender.invariants.broken",
        "Invariants that are broken now, for each pod or GPU.",
        invariants::broken);
    metrics.gauge(
        "tranche.extender.read.api.verdicts",
        "Cached rights of tokens to the read API; bounded.",
        access::remembered);
  }

  private static Answers answers(
      Vertx vertx,
      Sources sources,
      WaitingReasons reasons,
      Optional<GpuHistory> history,
      InvariantSampler invariants) {
    return new Answers(
        vertx,
        sources.loop(),
        sources.inspections(),
        sources.notReady(),
        sources.explain(),
        reasons,
        sources.schedulerMessages(),
        sources.filters(),
        new WhatIfAnswers(
            vertx,
            sources.loop(),
            sources.whatIf(),
            sources.selections(),
            new PodBody(sources.resources()),
            sources.clockMs()),
        new HistoryAnswers(vertx, history, sources.clockMs()),
        invariants,
        sources.clockMs());
  }

  private static Optional<GpuHistory> history(long bytesMax, Meters metrics) {
    Optional<GpuHistory> history =
        bytesMax == 0 ? Optional.empty() : Optional.of(new GpuHistory(bytesMax));
    metrics.gauge(
        "tranche.extender.history.bytes",
        "Size of the history of GPUs; bounded.",
        () -> history.map(GpuHistory::bytes).orElse(0L));
    metrics.gauge(
        "tranche.extender.history.step.seconds",
        "Time between two samples of the history; it grows with the number of GPUs.",
        () -> history.map(GpuHistory::stepMs).orElse(0L) / 1_000);
    metrics.gauge(
        "tranche.extender.history.gpus.left.out",
        "GPUs that the history leaves out for lack of memory.",
        () -> history.map(GpuHistory::leftOut).orElse(0));
    return history;
  }

  private static HistorySampler sampler(Vertx vertx, GpuHistory history, Sources sources) {
    return new HistorySampler(
        vertx,
        history,
        () -> sources.loop().get().submit(() -> sources.notReady().get().isEmpty()),
        sources.inspections()::latestUncached,
        sources.clockMs());
  }

  /** Opens the loopback port, with retries, and starts what is sampled. */
  public void start() {
    sampler.ifPresent(HistorySampler::start);
    invariants.start();
    local.open(options());
  }

  /** Opens the remote port with the first certificate; the later ones renew it. */
  public void setCertificate(PemKeyCertOptions certificate) {
    remote.setCertificate(options().setSsl(true), certificate);
  }

  private static HttpServerOptions options() {
    return new HttpServerOptions().setIdleTimeout(IDLE_S_MAX);
  }

  /** -1 while it is closed. */
  public int remotePort() {
    return remote.boundPort();
  }

  /** -1 while it is closed. */
  public int localPort() {
    return local.boundPort();
  }
}
