package dev.tranche.extender;

import dev.tranche.extender.controller.AccessReviewer;
import dev.tranche.extender.controller.ApiWriter;
import dev.tranche.extender.controller.Controller;
import dev.tranche.extender.controller.SchedulerMessages;
import dev.tranche.extender.controller.TokenReviewer;
import dev.tranche.extender.controller.VerbsEndpointSlice;
import dev.tranche.extender.controller.WaitEvents;
import dev.tranche.extender.controller.WaitSurvey;
import dev.tranche.extender.election.Leadership;
import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.explain.Inspector;
import dev.tranche.extender.explain.WhatIf;
import dev.tranche.extender.gang.Gangs;
import dev.tranche.extender.http.ExtenderReader;
import dev.tranche.extender.http.OpsRoutes;
import dev.tranche.extender.http.RequestLimiter;
import dev.tranche.extender.http.VerbRoutes;
import dev.tranche.extender.http.VerbServer;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.metrics.Failures;
import dev.tranche.extender.metrics.GpuCollector;
import dev.tranche.extender.preempt.BudgetStore;
import dev.tranche.extender.readapi.InspectionCache;
import dev.tranche.extender.readapi.ReadApi;
import dev.tranche.extender.readapi.row.Explain;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.extender.selection.NodeTraits;
import dev.tranche.extender.snapshot.ClusterView;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeFitCache;
import dev.tranche.extender.snapshot.PackedPolicy;
import dev.tranche.extender.state.NominatedPods;
import dev.tranche.extender.state.NominationPlanner;
import dev.tranche.extender.state.PodChecks;
import dev.tranche.extender.state.PodWaker;
import dev.tranche.extender.state.ReadinessGate;
import dev.tranche.extender.state.StateWriter;
import dev.tranche.extender.state.UnschedulablePods;
import dev.tranche.extender.stream.NodeStreams;
import dev.tranche.extender.stream.StreamServer;
import dev.tranche.extender.verb.Bind;
import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Preempt;
import dev.tranche.extender.verb.Prioritize;
import dev.tranche.extender.verb.RecentlyFilteredPods;
import dev.tranche.process.client.ApiClient;
import dev.tranche.process.listen.ConnectionLimiter;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.loop.Loop;
import dev.tranche.process.loop.LoopLag;
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
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Creates the parts of the process and connects them. */
public final class Extender implements AutoCloseable {
  /** kube-scheduler waits 10 s for a bind, by our chart, and a bind may also read the pod. */
  private static final int API_TIMEOUT_MS = 4_000;

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
  private final Failures failures = new Failures(metrics);
  private final UnaryOperator<ConnectionLimits> limits;
  private final ConnectionLimiter opsConnections;
  private final ConnectionLimiter streamConnections;
  private final ConnectionLimiter verbConnections;
  private final NodeTraits.Table traits = new NodeTraits.Table();
  private final NodeStreams streams;
  private final ApiWriter api;
  private final Ledger ledger;
  private final LoadCache loads;
  private final NodeFitCache evaluations;
  private final PackedPolicy packing = new PackedPolicy(failures);
  private final UnschedulablePods waiting;
  private final NominatedPods nominees;
  private final BudgetStore budgets = new BudgetStore();
  private final Explanations explanations;
  private final Explain explain;
  private final Gangs gangs = new Gangs();
  private final ReadinessGate readiness;
  private final NodeEvaluator evaluator;
  private final StateWriter state;
  private final NominationPlanner nominations;
  private final PodWaker podWaker;
  private final VerbServer verbs;
  private final Controllers controllers;
  private final TokenReviewer tokens;
  private final SchedulerMessages schedulerMessages;
  private final AccessReviewer access;
  private final Inspector inspector;
  private final InspectionCache inspections;
  private final ReadApi readApi;
  private volatile @Nullable WhatIf whatIf;
  private final CertifiedPorts ports;
  private final Leadership leadership;
  private final VerbsEndpointSlice verbsSlice;
  private final KubernetesClient client;
  private @Nullable Informers informers;
  private @Nullable HttpServer ops;

  /** Updated every second. Volatile, since metrics are read on another thread. */
  private volatile boolean ready;

  /**
   * @param client stays the caller's to close
   */
  public Extender(ExtenderConfig config, KubernetesClient client) {
    this(config, client, UnaryOperator.identity());
  }

  /**
   * @param limits of a port's connections, from those that are shipped; only tests change them
   */
  Extender(ExtenderConfig config, KubernetesClient client, UnaryOperator<ConnectionLimits> limits) {
    this.config = config;
    this.client = client;
    this.limits = limits;
    var timing = Timing.DEFAULT.withYoungMs(config.measuredAfterMs());
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

    // The state, and its evaluation for a pod.
    this.ledger =
        new Ledger(
            timing, since1970Ms -> since1970Ms - System.currentTimeMillis() + Extender.nowMs());
    this.loads = new LoadCache(config.loadStaleAfterMs(), timing.halfLifeMs(), timing.newcomerMs());
    var cluster =
        new ClusterView(ledger, loads, timing, config.memoryGuard(), config.mpsLoad(), failures);
    this.evaluations = new NodeFitCache(ledger, loads, cluster);
    this.evaluator =
        new NodeEvaluator(ledger, cluster, evaluations, config.policy(), Extender::nowMs);
    this.readiness = new ReadinessGate(ledger::allReported, Extender::nowMs);
    this.waiting = new UnschedulablePods(ledger, evaluations, cluster, metrics);
    this.nominees = new NominatedPods(ledger, Extender::nowMs);
    var waitEvents = waitEvents();
    this.explanations = new Explanations(waitEvents);
    this.explain = new Explain(ledger, evaluator, explanations);

    // The only writer of that state, and what runs by the clock or before each pod.
    this.state =
        new StateWriter(
            ledger,
            loads,
            evaluations,
            packing,
            waiting,
            nominees,
            podChecks(),
            streams,
            metrics,
            failures,
            Extender::nowMs);
    this.nominations =
        new NominationPlanner(nominees, ledger, loads, evaluator, budgets, state, Extender::nowMs);
    this.podWaker = podWaker();

    // The writers of labels, annotations, taints and events.
    this.controllers = controllers(List.of(waitSurvey(waitEvents), waitEvents));

    // The ports and leader election.
    this.opsConnections = new ConnectionLimiter(limits.apply(ConnectionLimits.METRICS));
    this.streamConnections = new ConnectionLimiter(limits.apply(StreamServer.LIMITS));
    this.verbConnections =
        new ConnectionLimiter(limits.apply(VerbServer.limits(config.verbsTls())));
    this.verbs = verbServer();
    this.inspector = new Inspector(ledger, loads, evaluations);
    this.inspections = new InspectionCache(this::inspect, Extender::nowMs);
    this.readApi = readApi();
    this.ports =
        new CertifiedPorts(
            config, client, vertx, verbs, this::streamServer, readApi::setCertificate, metrics);
    this.verbsSlice = verbsSlice();
    this.leadership = leadership();
  }

  private VerbServer verbServer() {
    return new VerbServer(
        address(config.verbs()), transport, verbConnections, readiness, this::tick, this::routes);
  }

  private PodChecks podChecks() {
    var rate = new NodeRate("pod-checks", PodChecks.RATE, Extender::nowMs, metrics);
    return new PodChecks(this::readPod, rate, metrics);
  }

  private PodWaker podWaker() {
    var rate = new NodeRate("wake-ups", PodWaker.RATE, Extender::nowMs, metrics);
    return new PodWaker(
        readiness, ledger, evaluator, waiting, api::wake, rate, metrics, Extender::nowMs);
  }

  private static long nowMs() {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
  }

  private TokenReviewer tokenReviewer() {
    var account = config.serviceAccount();
    return new TokenReviewer(client, account.namespace(), account.name(), metrics);
  }

  private WaitEvents waitEvents() {
    return new WaitEvents(
        event -> loop().completeOnLoop(api.podEvent(event)),
        this::deciding,
        new NodeRate("wait-events", WaitEvents.RATE, Extender::nowMs, metrics),
        Extender::nowMs,
        metrics);
  }

  private WaitSurvey waitSurvey(WaitEvents events) {
    return new WaitSurvey(
        ledger,
        evaluator,
        explanations,
        events,
        pod -> explain.nodes(pod, loop()),
        work -> loop().completeOnLoop(vertx.executeBlocking(work::get, false)),
        () -> readiness.notReady().isEmpty(),
        failures,
        Extender::nowMs);
  }

  private Controllers controllers(List<Controller> waits) {
    return new Controllers(
        config,
        api,
        this::loop,
        this::deciding,
        ledger,
        loads,
        evaluations,
        metrics,
        failures,
        Extender::nowMs,
        waits);
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
    failures.task("tick", state::tick);
    // In a turn of its own, since both take several milliseconds after a new list of all nodes.
    loop().run(() -> failures.task("wake", podWaker::tick));
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
        && readiness.notDeciding().or(readiness::awaitingFirstReports).isEmpty();
  }

  /** Completes when the ports that need no certificate are open. */
  public Future<Void> start() {
    registerMetrics();
    return vertx
        .deployVerticle(verbs)
        .onSuccess(deployed -> startWatchesAndPorts())
        .compose(
            deployed -> config.verbsTls() ? Future.succeededFuture() : verbs.listen(null, null))
        .compose(listening -> serveOps())
        .onSuccess(serving -> readApi.start())
        .onSuccess(serving -> joinElection())
        .mapEmpty();
  }

  private void registerMetrics() {
    new JvmMemoryMetrics().bindTo(registry);
    new ProcessorMetrics().bindTo(registry);
    registry.getPrometheusRegistry().register(gpus);
    metrics.connections("metrics", opsConnections);
    metrics.connections("stream", streamConnections);
    metrics.connections("verbs", verbConnections);
    metrics.gauge(
        "tranche.extender.ready", "1 while /readyz says ready, else 0.", () -> ready ? 1 : 0);
    StateGauges.register(
        metrics,
        ledger,
        streams,
        loads,
        packing,
        waiting,
        nominees,
        budgets,
        gangs,
        controllers.draNodes());
  }

  private void startWatchesAndPorts() {
    if (config.leaderElect()) {
      readiness.closeWhile(leadership::missing, leadership::term);
    }
    var watched =
        new Informers(
            client,
            config.resources(),
            config.policy() == Policy.PACKED,
            loop(),
            readiness,
            state,
            budgets,
            packing,
            controllers,
            gangs,
            metrics,
            Extender::nowMs,
            traits);
    informers = watched;
    watched.start();
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
    ready = missing().or(readiness::notReady).isEmpty();
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
    var bind =
        new Bind(
            readiness,
            ledger,
            evaluator,
            state,
            explanations,
            recentlyFiltered,
            api,
            loop,
            metrics);
    metrics.gauge("tranche.extender.binds.in.flight", "Binds in progress.", bind::inFlight);
    var filter =
        new Filter(
            readiness,
            ledger,
            evaluator,
            nominations,
            state,
            packing,
            explanations,
            gangs,
            recentlyFiltered,
            metrics,
            config.offeredNodesMax(),
            loop::run,
            Extender::nowMs);
    whatIf = new WhatIf(ledger, evaluator, packing, filter, Extender::nowMs);
    var verbRoutes =
        new VerbRoutes(
            new ExtenderReader(config.resources()),
            filter,
            new Prioritize(readiness, ledger, evaluator, state, packing, explanations, metrics),
            bind,
            new Preempt(
                readiness,
                ledger,
                budgets,
                evaluator,
                packing,
                nominations,
                state,
                metrics,
                loop::run,
                task -> vertx.setTimer(SOON_MS, id -> loop.run(task)),
                Extender::nowMs),
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
            readiness, inspections, loop(), registry, gpus, config.gpuMetrics(), this::missing);
    return routes
        .port(vertx)
        .listen(vertx, transport, opsConnections, config.metrics())
        .onSuccess(server -> ops = server);
  }

  private ReadApi readApi() {
    return new ReadApi(
        vertx,
        transport,
        config.api() == null ? null : address(config.api()),
        config.apiLocal() == null ? null : address(config.apiLocal()),
        limits,
        config.viewerRole(),
        access,
        new ReadApi.Sources(
            this::loop,
            inspections,
            readiness::notReady,
            explain,
            explanations,
            schedulerMessages::of,
            this::nodeFilter,
            () -> Objects.requireNonNull(whatIf, "asked once the verbs are there"),
            traits::filter,
            config.resources(),
            config.historyBytesMax(),
            config.clusterName(),
            ledger,
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
        .submit(() -> inspector.readAhead(nowMs(), timeOfDay()))
        .compose(
            more ->
                more
                    ? inspect()
                    : loop().submit(() -> inspector.inspect(waiting.size(), nowMs(), timeOfDay())));
  }

  private static Instant timeOfDay() {
    return Instant.now().truncatedTo(ChronoUnit.MILLIS);
  }

  private Optional<String> missing() {
    Optional<String> missing =
        config.leaderElect()
            ? ports.missing().or(leadership::leaderless).or(verbsSlice::missing)
            : ports.missing();
    return missing.or(ledger.acknowledgements()::mostMissing);
  }

  private StreamServer streamServer(PemKeyCertOptions certificate) {
    return new StreamServer(
        address(config.stream()),
        transport,
        streamConnections,
        certificate,
        tokens,
        streams,
        state,
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

  /** -1 before there is a certificate. */
  public int streamPort() {
    return ports.streamPort();
  }

  /** -1 before there is a certificate. */
  public int apiPort() {
    return readApi.remotePort();
  }

  public int apiLocalPort() {
    return readApi.localPort();
  }

  @Override
  public void close() {
    leadership.stop();
    if (api.drainBinds()) {
      leadership.release();
    } else {
      LOG.warn("Bindings are still in flight; leaving the Lease to expire");
    }
    verbsSlice.close();
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
