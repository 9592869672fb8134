package dev.tranche.extender.readapi;

import com.github.benmanes.caffeine.cache.Ticker;
import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.explain.WhatIf;
import dev.tranche.extender.history.GpuHistory;
import dev.tranche.extender.readapi.access.Access;
import dev.tranche.extender.readapi.access.FrontProxy;
import dev.tranche.extender.readapi.row.Explain;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.extender.selection.PodSelection;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.loop.Loop;
import dev.tranche.process.meters.Meters;
import dev.tranche.process.settings.HostPort;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.PemKeyCertOptions;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The read API's ports. The answers name the pods of all tenants, so remote callers need a token
 * that may read them, or those of one namespace. Callers from loopback use {@code kubectl
 * port-forward}, which the API server has authorized. The API server itself proxies requests about
 * single namespaces.
 */
public final class ReadApi {
  /** Web pages may all connect through one ingress controller. */
  public static final ConnectionLimits REMOTE = new ConnectionLimits(384, 80);

  /** All connections come from one address. */
  public static final ConnectionLimits LOCAL = new ConnectionLimits(96, 96);

  /** A cluster has a few API servers. One of them may proxy all requests that are in progress. */
  public static final ConnectionLimits PROXIED = new ConnectionLimits(96, 40);

  private static final int IDLE_S_MAX = 60;
  private static final long ANSWERED_MS_MAX = 10_000;

  private final Histories histories;
  private final InvariantSampler invariants;
  private final ReadApiPort remote;
  private final ReadApiPort local;
  private final ReadApiPort proxied;
  private final AggregatedApi aggregated;
  private @Nullable PemKeyCertOptions certificate;
  private @Nullable FrontProxy frontProxy;

  /**
   * Where the ports listen.
   *
   * @param remote for callers with a token; null to open no port
   * @param local a loopback address; null to open no port
   * @param proxied for the API server; null to open no port
   */
  public record Addresses(
      @Nullable HostPort remote, @Nullable HostPort local, @Nullable HostPort proxied) {}

  /**
   * What only the API server knows of a pod.
   *
   * @param selection the pod's constraints on nodes
   * @param schedulerMessage of the condition {@code PodScheduled} while that is false
   * @param leftAlone why Tranche leaves the pod alone, a clause, if it does
   */
  public record StoredPod(
      PodSelection selection, Optional<String> schedulerMessage, Supplier<String> leftAlone) {}

  /**
   * What the answers are made from.
   *
   * @param notReady what is not known yet, as a sentence; empty when ready; called on the loop
   * @param pods reads a pod by {@code namespace/name}; empty without one, or if the API server does
   *     not answer
   * @param resources GPU resources that pods may request
   * @param historyBytesMax maximum size of the history of GPUs; 0 to keep none
   * @param clusterName shown on the web page; may be empty
   * @param core confined to the loop, except where a part says otherwise
   */
  public record Sources(
      Loop loop,
      InspectionCache inspections,
      Supplier<Optional<String>> notReady,
      Explain explain,
      Function<String, Future<Optional<StoredPod>>> pods,
      WhatIf whatIf,
      List<String> resources,
      long historyBytesMax,
      String clusterName,
      SchedulingCore core) {}

  /**
   * @param transport the transport of {@code vertx}
   * @param clusterRole ClusterRole that grants access to remote callers
   */
  public ReadApi(
      Vertx vertx,
      LimitedTransport transport,
      Addresses addresses,
      String clusterRole,
      Access.Reviews reviews,
      Sources sources,
      Meters metrics) {
    var access = new Access(reviews, clusterRole, Ticker.systemTicker());
    var counted = new ReadApiMetrics(metrics);
    var reasons = new WaitingReasons(sources.core().explanations);
    this.histories = new Histories(vertx, sources);
    this.invariants = new InvariantSampler(vertx, sources);
    var answers = new Answers(vertx, sources, reasons, histories, invariants);
    Function<Endpoint.Guard, Endpoint> guarded =
        guard -> new Endpoint(vertx, answers::of, guard, ANSWERED_MS_MAX, counted);
    this.aggregated = new AggregatedApi(access, counted, guarded);
    Endpoint remoteEndpoint = guarded.apply(byToken(access));
    Endpoint localEndpoint = guarded.apply(new LocalHosts());
    var remotePort = new ListeningPort(vertx, transport, "api", REMOTE);
    var localPort = new ListeningPort(vertx, transport, "api-local", LOCAL);
    var proxiedPort = new ListeningPort(vertx, transport, "api-aggregated", PROXIED);
    this.remote = new ReadApiPort(vertx, remotePort, addresses.remote(), remoteEndpoint, metrics);
    this.local = new ReadApiPort(vertx, localPort, addresses.local(), localEndpoint, metrics);
    this.proxied = new ReadApiPort(vertx, proxiedPort, addresses.proxied(), aggregated, metrics);
    gauges(metrics, access, answers, List.of(remoteEndpoint, localEndpoint, aggregated.endpoint));
  }

  private static Endpoint.Guard byToken(Access access) {
    return (request, route) ->
        access.refusal(
            request.getHeader("Authorization"),
            route.rights(),
            request.connection().remoteAddress().hostAddress());
  }

  private void gauges(Meters metrics, Access access, Answers answers, List<Endpoint> endpoints) {
    metrics.gauge(
        "tranche.extender.pod.metrics.left.out",
        "Shares of GPUs that /metrics of the API's port leaves out; it shows 10,000.",
        answers.podMetrics()::leftOut);
    metrics.gauge(
        "tranche.extender.history.bytes",
        "Size of the history of GPUs; bounded.",
        () -> histories.history.map(GpuHistory::bytes).orElse(0L));
    metrics.gauge(
        "tranche.extender.history.gpus.left.out",
        "GPUs that the history leaves out for lack of memory.",
        () -> histories.history.map(GpuHistory::leftOut).orElse(0));
    metrics.gauge(
        "tranche.extender.invariants.broken",
        "Invariants that are broken now, for each pod or GPU.",
        invariants::broken);
    metrics.gauge(
        "tranche.extender.read.api.in.flight",
        "Requests of the read API in progress; bounded.",
        () -> endpoints.stream().mapToInt(Endpoint::inFlight).sum());
    metrics.gauge(
        "tranche.extender.read.api.verdicts",
        "Cached rights of tokens to the read API; bounded.",
        access::remembered);
  }

  /** Opens the loopback port, with retries, and starts what is sampled. */
  public void start() {
    histories.start();
    invariants.start();
    local.serve(options());
  }

  /** Opens the ports over TLS with the first certificate; the later ones renew it. */
  public synchronized void setCertificate(PemKeyCertOptions newest) {
    certificate = newest;
    remote.serve(options().setSsl(true).setKeyCertOptions(newest));
    renewProxied();
  }

  /** Sets how the API server shows whom it proxies. */
  public synchronized void setFrontProxy(FrontProxy newest) {
    frontProxy = newest;
    aggregated.setProxy(newest);
    renewProxied();
  }

  private void renewProxied() {
    if (certificate != null && frontProxy != null) {
      proxied.serve(
          options()
              .setSsl(true)
              .setKeyCertOptions(certificate)
              .setClientAuth(ClientAuth.REQUIRED)
              .setTrustOptions(frontProxy.trust()));
    }
  }

  private static HttpServerOptions options() {
    return new HttpServerOptions().setIdleTimeout(IDLE_S_MAX);
  }

  /** -1 while it is closed. */
  public int remotePort() {
    return remote.boundPort();
  }

  /** -1 while it is closed. */
  public int proxiedPort() {
    return proxied.boundPort();
  }

  /** -1 while it is closed. */
  public int localPort() {
    return local.boundPort();
  }
}
