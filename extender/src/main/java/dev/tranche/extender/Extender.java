package dev.tranche.extender;

import dev.tranche.extender.controller.AccessReviewer;
import dev.tranche.extender.controller.ApiWriter;
import dev.tranche.extender.controller.Controller;
import dev.tranche.extender.controller.DraNodes;
import dev.tranche.extender.controller.SchedulerMessages;
import dev.tranche.extender.controller.TokenReviewer;
import dev.tranche.extender.controller.VerbsEndpointSlice;
import dev.tranche.extender.controller.WaitEvents;
import dev.tranche.extender.controller.WaitSurvey;
import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.election.Leadership;
import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.explain.WhatIf;
import dev.tranche.extender.http.ExtenderReader;
import dev.tranche.extender.http.OpsRoutes;
import dev.tranche.extender.http.RequestLimiter;
import dev.tranche.extender.http.VerbRoutes;
import dev.tranche.extender.http.VerbServer;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.metrics.GpuCollector;
import dev.tranche.extender.readapi.InspectionCache;
import dev.tranche.extender.readapi.ReadApi;
import dev.tranche.extender.readapi.row.Explain;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.extender.selection.NodeTraits;
import dev.tranche.extender.snapshot.NodeSnapshot;
import dev.tranche.extender.state.SchedulingState;
import dev.tranche.extender.stream.NodeStreams;
import dev.tranche.extender.stream.StreamServer;
import dev.tranche.extender.verb.Bind;
import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Preempt;
import dev.tranche.extender.verb.Prioritize;
import dev.tranche.extender.verb.RecentlyFilteredPods;
import dev.tranche.process.client.ApiClient;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.loop.Loop;
import dev.tranche.process.loop.LoopLag;
import dev.tranche.process.loop.LoopWatch;
import dev.tranche.process.meters.Failures;
import dev.tranche.process.settings.HostPort;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServer;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.SocketAddress;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Creates the parts of the process and connects them. */
public final class Extender implements AutoCloseable {
  /** kube-scheduler waits 10 s for a bind, by our chart, and a bind may also read the pod. */
  static final int API_TIMEOUT_MS = 4_000;

  private static final long STOP_S = 10;
  private static final long SOON_MS = 50;
  private static final long EVERY_SECOND_MS = 1_000;
  private static final long EVERY_TEN_SECONDS_MS = 10_000;
  private static final Logger LOG = LoggerFactory.getLogger(Extender.class);

  private final ExtenderConfig config;
  private final LimitedTransport transport = new LimitedTransport();
  private final Vertx vertx = transport.vertx(new VertxOptions());
  private final PrometheusMeterRegistry registry = ExtenderMetrics.prometheusRegistry();
  private final GpuCollector gpus = new GpuCollector();
  private final ExtenderMetrics metrics = new ExtenderMetrics(registry);
  private final Failures failures = metrics.failures();
  private final ListeningPort opsPort = port("metrics", ConnectionLimits.METRICS);
  private final ListeningPort streamPort = port("stream", StreamServer.LIMITS);
  private final ListeningPort verbsPort;
  private final NodeTraits.Table traits = new NodeTraits.Table();
  private final NodeStreams streams;
  private final ApiWriter api;
  private final SchedulingCore core;
  private final SchedulingState state;
  private final Explain explain;
  private final VerbServer verbs;
  private final Controllers controllers;
  private final TokenReviewer tokens;
  private final SchedulerMessages schedulerMessages;
  private final AccessReviewer access;
  private final InspectionCache inspections;
  private final ReadApi readApi;
  private final CertifiedPorts ports;
  private final Leadership leadership;
  private final VerbsEndpointSlice verbsSlice;
  private final KubernetesClient client;
  private final DraNodes draNodes;
  private @Nullable Informers informers;
  private @Nullable HttpServer ops;

  /** Updated every second. Volatile, since metrics are read on another thread. */
  private volatile boolean ready;

  /**
   * @param client stays the caller's to close
   */
  public Extender(ExtenderConfig config, KubernetesClient client) {
    this.config = config;
    this.client = client;
    // The connections: node streams and the API server.
    this.streams =
        new NodeStreams(config.assignmentAckTimeoutMs(), sent -> loop().completeOnLoop(sent));
    this.api =
        new ApiWriter(
            ApiClient.withoutRetries(client, API_TIMEOUT_MS), config.resources(), metrics);
    this.tokens = tokenReviewer();
    this.schedulerMessages =
        new SchedulerMessages(ApiClient.withoutRetries(client, API_TIMEOUT_MS), metrics);
    this.access = new AccessReviewer(ApiClient.withoutRetries(client, API_TIMEOUT_MS), metrics);

    // What decides, and the state that the verbs share.
    var waitingPods =
        new WaitingPods(api, schedulerMessages, traits, this::loop, this::deciding, metrics);
    this.core =
        new SchedulingCore(
            settings(config),
            Extender::nowMs,
            Extender::toClockMs,
            failures::nodeFailed,
            waitingPods);
    this.state = new SchedulingState(core, streams, this::readPod, api::wake, metrics, failures);
    this.explain = new Explain(core.ledger, core.evaluator, core.explanations);

    this.draNodes = new DraNodes(client, config.resources(), OptionalReflector.CHECK_AGAIN_MS);

    // The writers of labels, annotations, taints and events.
    this.controllers = controllers(waitingPods.controllers(core.explanations, this::waitSurvey));

    // The ports and leader election.
    this.verbsPort = port("verbs", VerbServer.limits(config.verbsTls()));
    this.verbs = verbServer();
    this.inspections = new InspectionCache(this::inspect, Extender::nowMs);
    this.readApi = readApi();
    this.ports =
        new CertifiedPorts(
            config,
            client,
            vertx,
            new CertifiedPorts.Servers(this::streamServer, verbs, readApi),
            metrics);
    this.verbsSlice = verbsSlice();
    this.leadership = leadership();
  }

  private ListeningPort port(String name, ConnectionLimits limits) {
    return new ListeningPort(vertx, transport, name, limits);
  }

  private VerbServer verbServer() {
    return new VerbServer(
        address(config.verbs()), verbsPort, state.readiness, this::tick, this::routes);
  }

  private static SchedulingCore.Settings settings(ExtenderConfig config) {
    return new SchedulingCore.Settings(
        Timing.DEFAULT.withYoungMs(config.measuredAfterMs()),
        config.policy(),
        config.memoryGuard(),
        config.loadStaleAfterMs());
  }

  static long nowMs() {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
  }

  static long toClockMs(long since1970Ms) {
    return since1970Ms - System.currentTimeMillis() + nowMs();
  }

  private TokenReviewer tokenReviewer() {
    var account = config.serviceAccount();
    return new TokenReviewer(client, account.namespace(), account.name(), metrics);
  }

  private WaitSurvey waitSurvey(WaitEvents events) {
    return new WaitSurvey(
        core, events, new SurveyTurns(), () -> state.readiness.notReady().isEmpty(), failures);
  }

  private final class SurveyTurns implements WaitSurvey.Turns {
    @Override
    public Future<List<NodeSnapshot>> nodes(PodFacts pod) {
      return explain.nodes(pod, loop());
    }

    @Override
    public Future<WaitSurvey.Found> aside(Supplier<WaitSurvey.Found> work) {
      return loop().completeOnLoop(vertx.executeBlocking(work::get, false));
    }

    @Override
    public void later(Runnable task) {
      loop().run(task);
    }
  }

  private Controllers controllers(List<Controller> waits) {
    return new Controllers(
        config, api, this::loop, this::deciding, core, metrics, failures, draNodes::served, waits);
  }

  private VerbsEndpointSlice verbsSlice() {
    return new VerbsEndpointSlice(
        client,
        config.namespace(),
        config.name() + "-extender-verbs",
        new VerbsEndpointSlice.Address(config.identity(), config.podIp(), verbs::port));
  }

  private Leadership leadership() {
    return new Leadership(
        client,
        config.namespace(),
        config.name() + "-extender",
        config.identity(),
        verbsSlice::lead,
        verbsSlice::retire);
  }

  private void tick() {
    failures.task("the tick", state.writer::tick);
    // In a turn of its own, since both take several milliseconds after a new list of all nodes.
    loop().run(() -> failures.task("the wake-up", state.waker::tick));
  }

  private Future<Optional<PodFacts>> readPod(String key) {
    return loop().completeOnLoop(api.pod(key));
  }

  private Loop loop() {
    return verbs.loop();
  }

  /**
   * Whether the controllers may write. Without an open port no node can report, so what is known of
   * the nodes is no basis for writing.
   */
  private boolean deciding() {
    return ports.missing().isEmpty()
        && state.readiness.notDeciding().or(state.readiness::awaitingFirstReports).isEmpty();
  }

  void watchLoops() {
    LoopWatch.start(vertx);
  }

  /** Completes when the ports that need no certificate are open. */
  public Future<Void> start() {
    registerMetrics();
    return vertx
        .deployVerticle(verbs)
        .onSuccess(deployed -> startWatchesAndPorts())
        .compose(deployed -> config.verbsTls() ? Future.succeededFuture() : verbs.serve(null, null))
        .compose(listening -> serveOps())
        .onSuccess(serving -> readApi.start())
        .onSuccess(serving -> joinElection())
        .mapEmpty();
  }

  private void registerMetrics() {
    new JvmMemoryMetrics().bindTo(registry);
    new ProcessorMetrics().bindTo(registry);
    registry.getPrometheusRegistry().register(gpus);
    metrics.connections(opsPort);
    metrics.connections(streamPort);
    metrics.connections(verbsPort);
    metrics.gauge(
        "tranche.extender.ready", "1 while /readyz says ready, else 0.", () -> ready ? 1 : 0);
    StateGauges.register(metrics, core, state, streams);
  }

  private void startWatchesAndPorts() {
    if (config.leaderElect()) {
      state.readiness.closeWhile(leadership::missing, leadership::term);
    }
    var watched = new Informers(client, config, loop(), core, state, controllers, metrics, traits);
    informers = watched;
    watched.start();
    draNodes.start();
    ports.start();
    loop().run(this::measureLag);
    vertx.setPeriodic(EVERY_SECOND_MS, id -> loop().run(this::everySecond));
    vertx.setPeriodic(EVERY_SECOND_MS, id -> loop().run(watched::everySecond));
    vertx.setPeriodic(EVERY_TEN_SECONDS_MS, id -> loop().run(controllers::everyTenSeconds));
  }

  /** On the loop: its timer fires there, after the work that is before it. */
  private void measureLag() {
    var lag = new LoopLag(System.nanoTime());
    vertx.setPeriodic(LoopLag.BEAT_MS, id -> lag.beat(System.nanoTime()));
    metrics.gauge(
        "tranche.extender.loop.lag.seconds",
        "Maximum delay of the event loop that decides, over the last one to two minutes.",
        lag::seconds);
  }

  private void everySecond() {
    ready = missing().or(state.readiness::notReady).isEmpty();
    controllers.tick();
  }

  /** Joins the leader election, once the ports are open. */
  private void joinElection() {
    if (config.leaderElect()) {
      leadership.start();
      verbsSlice.start();
    }
  }

  private VerbRoutes routes(Loop loop) {
    var recentlyFiltered = new RecentlyFilteredPods();
    var bind = new Bind(core, state, recentlyFiltered, api, loop, metrics);
    metrics.gauge("tranche.extender.binds.in.flight", "Binds in progress.", bind::inFlight);
    var filter =
        new Filter(core, state, recentlyFiltered, metrics, config.offeredNodesMax(), loop::run);
    var verbRoutes =
        new VerbRoutes(
            new ExtenderReader(config.resources()),
            filter,
            new Prioritize(core, state, metrics),
            bind,
            new Preempt(
                core,
                state,
                metrics,
                loop::run,
                task -> vertx.setTimer(SOON_MS, id -> loop.run(task))),
            metrics,
            RequestLimiter.READ_WITHIN_MS);
    metrics.gauge(
        "tranche.extender.verbs.in.flight",
        "Requests of kube-scheduler that are queued or in progress; bounded.",
        verbRoutes::calls);
    return verbRoutes;
  }

  private Future<HttpServer> serveOps() {
    var routes =
        new OpsRoutes(
            state.readiness,
            inspections,
            loop(),
            registry,
            gpus,
            config.gpuMetrics(),
            this::missing);
    return routes.port(vertx).listen(opsPort, config.metrics()).onSuccess(server -> ops = server);
  }

  private ReadApi readApi() {
    return new ReadApi(
        vertx,
        transport,
        new ReadApi.Addresses(config.api(), config.apiLocal(), config.apiAggregated()),
        config.viewerRole(),
        access,
        new ReadApi.Sources(
            this::loop,
            inspections,
            state.readiness::notReady,
            explain,
            core.explanations,
            schedulerMessages::of,
            schedulerMessages::leftAlone,
            this::nodeFilter,
            new WhatIf(
                core.ledger, core.evaluator, core.packing, config.offeredNodesMax(), core.clockMs),
            traits::filter,
            config.resources(),
            // Without a port nobody could read the history.
            config.servesApi() ? config.historyBytesMax() : 0,
            config.clusterName(),
            core.ledger,
            Extender::nowMs),
        metrics);
  }

  /** Returns which nodes a pod excludes; empty if the API server does not answer. */
  private Future<Optional<NodeFilter>> nodeFilter(String pod) {
    return schedulerMessages.selection(pod).map(selection -> selection.map(traits::filter));
  }

  /** Takes a snapshot in steps, so that verbs are answered in between. */
  private Future<Inspection> inspect() {
    return loop()
        .submit(() -> core.inspector.readAhead(nowMs(), timeOfDay()))
        .compose(
            more ->
                more
                    ? inspect()
                    : loop()
                        .submit(
                            () ->
                                core.inspector.inspect(
                                    state.waiting.size(), nowMs(), timeOfDay())));
  }

  private static Instant timeOfDay() {
    return Instant.now().truncatedTo(ChronoUnit.MILLIS);
  }

  private Optional<String> missing() {
    Optional<String> missing =
        config.leaderElect()
            ? ports.missing().or(leadership::leaderless).or(verbsSlice::missing)
            : ports.missing();
    return missing.or(core.ledger.acknowledgements()::mostMissing);
  }

  private StreamServer streamServer(PemKeyCertOptions certificate) {
    return new StreamServer(
        address(config.stream()),
        streamPort,
        certificate,
        tokens,
        streams,
        state.writer,
        loop(),
        controllers,
        metrics,
        Extender::nowMs);
  }

  private static SocketAddress address(HostPort address) {
    return SocketAddress.inetSocketAddress(address.port(), address.host());
  }

  public int verbsPort() {
    return verbs.port();
  }

  public int metricsPort() {
    return ops == null ? -1 : ops.actualPort();
  }

  public int streamPort() {
    return ports.streamPort();
  }

  public int apiPort() {
    return readApi.remotePort();
  }

  public int apiLocalPort() {
    return readApi.localPort();
  }

  public int apiAggregatedPort() {
    return readApi.proxiedPort();
  }

  @Override
  public void close() {
    failures.stopping();
    leadership.stop();
    if (api.drainBinds()) {
      leadership.release();
    } else {
      LOG.warn("Bindings are still in flight; leaving the Lease to expire");
    }
    verbsSlice.close();
    draNodes.close();
    ports.close();
    if (informers != null) {
      informers.close();
    }
    try {
      vertx.close().await(STOP_S, TimeUnit.SECONDS);
    } catch (java.util.concurrent.TimeoutException slow) {
      LOG.warn("open calls did not end within {} s", STOP_S);
    }
    tokens.close();
    access.close();
    schedulerMessages.close();
    api.close();
  }
}
