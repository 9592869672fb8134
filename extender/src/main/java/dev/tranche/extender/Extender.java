package dev.tranche.extender;

import dev.tranche.extender.controller.AccessReviewer;
import dev.tranche.extender.controller.ApiServiceBundle;
import dev.tranche.extender.controller.ApiWriter;
import dev.tranche.extender.controller.ConfigMapEvents;
import dev.tranche.extender.controller.Controller;
import dev.tranche.extender.controller.ControllerContext;
import dev.tranche.extender.controller.DraLabels;
import dev.tranche.extender.controller.DuplicateAllocations;
import dev.tranche.extender.controller.FrontProxyWatch;
import dev.tranche.extender.controller.MistakeEvents;
import dev.tranche.extender.controller.NodeEventWriter;
import dev.tranche.extender.controller.NodeLabels;
import dev.tranche.extender.controller.NodeUseWriter;
import dev.tranche.extender.controller.PinChecks;
import dev.tranche.extender.controller.PodRules;
import dev.tranche.extender.controller.PodScan;
import dev.tranche.extender.controller.StartupTaints;
import dev.tranche.extender.controller.StoredPods;
import dev.tranche.extender.controller.TokenReviewer;
import dev.tranche.extender.controller.UnknownCordons;
import dev.tranche.extender.controller.VerbsEndpointSlice;
import dev.tranche.extender.controller.WaitEvents;
import dev.tranche.extender.controller.WaitSurvey;
import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.election.Leadership;
import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.explain.WhatIf;
import dev.tranche.extender.http.ClientCertificates;
import dev.tranche.extender.http.ExtenderReader;
import dev.tranche.extender.http.OpsRoutes;
import dev.tranche.extender.http.VerbRoutes;
import dev.tranche.extender.http.VerbServer;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.metrics.GpuCollector;
import dev.tranche.extender.readapi.InspectionCache;
import dev.tranche.extender.readapi.ReadApi;
import dev.tranche.extender.readapi.ReadApi.StoredPod;
import dev.tranche.extender.readapi.row.Explain;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.extender.snapshot.NodeSnapshot;
import dev.tranche.extender.state.SchedulingState;
import dev.tranche.extender.stream.NodeStreams;
import dev.tranche.extender.stream.StreamServer;
import dev.tranche.extender.verb.Bind;
import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Preempt;
import dev.tranche.extender.verb.Prioritize;
import dev.tranche.extender.verb.Verbs;
import dev.tranche.extender.watch.DraNodes;
import dev.tranche.extender.watch.Reflector.Watches;
import dev.tranche.extender.watch.ResourceKind;
import dev.tranche.process.client.ApiClient;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.loop.Loop;
import dev.tranche.process.loop.LoopWatch;
import dev.tranche.process.loop.MonotonicClock;
import dev.tranche.process.meters.Meters;
import dev.tranche.process.ops.Probe;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServer;
import io.vertx.core.net.PemKeyCertOptions;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Creates the parts of the process, in the order in which they need each other, and starts them.
 */
public final class Extender implements AutoCloseable {
  /** kube-scheduler waits 10 s for a bind, by our chart, and a bind may also read the pod. */
  static final int API_TIMEOUT_MS = 4_000;

  private static final long STOP_S = 10;
  private static final long SOON_MS = 50;
  private static final long TICK_MS = 250;
  private static final long EVERY_SECOND_MS = 1_000;
  private static final long EVERY_TEN_SECONDS_MS = 10_000;
  private static final Logger LOG = LoggerFactory.getLogger(Extender.class);

  private final ExtenderConfig config;
  private final LimitedTransport transport = new LimitedTransport();
  private final Vertx vertx = transport.vertx(new VertxOptions());

  /** Everything is decided here. */
  private final Loop loop = new Loop(vertx.getOrCreateContext());

  private final PrometheusMeterRegistry registry = Meters.prometheusRegistry();
  private final ExtenderMetrics metrics = new ExtenderMetrics(registry);
  private final SchedulingCore core;
  private final SchedulingState state;
  private final Explain explain;
  private final ApiWriter api;
  private final StoredPods storedPods;
  private final VerbsEndpointSlice verbsSlice;
  private final Leadership leadership;
  private final NodeStreams streams;
  private final Controllers controllers;
  private final Informers informers;
  private final ListeningPort opsPort;
  private final VerbServer verbs;
  private final StreamServer streamServer;
  private final ReadApi readApi;
  private final OpsRoutes ops;
  private final CertifiedPorts ports;
  private final ApiServiceBundle apiService;

  /** What is started once nodes may connect, and what ends it. */
  private final List<Runnable> starts = new ArrayList<>();

  private final List<Runnable> ends = new ArrayList<>();
  private @Nullable HttpServer opsServer;

  /** Updated every second. Volatile, since metrics are read on another thread. */
  private volatile boolean ready;

  /**
   * @param client stays the caller's to close
   */
  public Extender(ExtenderConfig config, KubernetesClient client) {
    this.config = config;
    KubernetesClient calls = ApiClient.withoutRetries(client, API_TIMEOUT_MS);

    // What decides.
    core =
        new SchedulingCore(
            settings(config),
            MonotonicClock::ms,
            Extender::toClockMs,
            metrics.failures::nodeFailed);
    explain = new Explain(core.ledger, core.evaluator, core.explanations);
    streams = new NodeStreams(config.assignmentAckTimeoutMs(), loop);
    api = new ApiWriter(calls, config.resources(), loop, metrics);
    storedPods = new StoredPods(calls, loop, config.schedulerName(), metrics);
    state = new SchedulingState(core, streams, api, metrics);

    // Who decides.
    verbsSlice =
        new VerbsEndpointSlice(
            client,
            config.namespace(),
            config.name() + "-extender-verbs",
            new VerbsEndpointSlice.Address(config.identity(), config.podIp()));
    leadership =
        new Leadership(
            client,
            new Leadership.Candidate(
                config.namespace(), config.name() + "-extender", config.identity()),
            verbsSlice);
    if (config.leaderElect()) {
      state.readiness.closeWhile(leadership::missing, leadership::term);
    }

    // What is written, and what is known.
    var watches = new Watches(client, metrics, core.clockMs);
    var draNodes = new DraNodes(watches, config.resources(), ResourceKind.LOOK_AGAIN_MS);
    var context = new ControllerContext(core, state.readiness, api, metrics);
    controllers = new Controllers(controllers(context, draNodes), loop, metrics.failures);
    informers = new Informers(watches, config, core, state, controllers);

    // The ports.
    opsPort = port("metrics", ConnectionLimits.METRICS);
    var inspections = new InspectionCache(this::inspect, core.clockMs);
    var gpus =
        new GpuCollector(
            new WaitingReasons(core.explanations),
            () -> config.gpuMetrics() && !state.readiness.leadershipMissing(),
            config.podMetrics());
    registry.getPrometheusRegistry().register(gpus);
    ops = new OpsRoutes(vertx, registry, gpus, inspections);
    verbs = verbServer();
    streamServer = streamServer(client);
    readApi = readApi(inspections, new AccessReviewer(calls, metrics));
    apiService = new ApiServiceBundle(calls);
    ports = new CertifiedPorts(config, client, vertx, this::serve);

    listParts(client, draNodes);
    metrics.registerProcess();
    metrics.gauge(
        "tranche.extender.ready", "1 while /readyz says ready, else 0.", () -> ready ? 1 : 0);
    StateGauges.register(metrics, core, state, streams);
  }

  private StreamServer streamServer(KubernetesClient client) {
    var account = config.serviceAccount();
    return new StreamServer(
        config.stream(),
        port("stream", StreamServer.LIMITS),
        new TokenReviewer(client, account.namespace(), account.name(), metrics),
        streams,
        new StreamServer.ReportSink(
            state,
            (node, report) -> controllers.tell(each -> each.reported(node, report)),
            loop,
            core.clockMs,
            metrics));
  }

  private void listParts(KubernetesClient client, DraNodes draNodes) {
    part(informers::start, informers::close);
    part(draNodes::start, draNodes::close);
    part(ports::start, ports::close);
    if (config.apiAggregated() != null) {
      var frontProxy = FrontProxyWatch.of(client, readApi::setFrontProxy);
      part(frontProxy::start, frontProxy::close);
      starts.add(
          () -> every(ApiServiceBundle.PERIOD_MS, () -> vertx.executeBlocking(apiService::check)));
    }
  }

  private void part(Runnable start, Runnable end) {
    starts.add(start);
    ends.add(end);
  }

  private static SchedulingCore.Settings settings(ExtenderConfig config) {
    return new SchedulingCore.Settings(
        Timing.DEFAULT.withYoungMs(config.measuredAfterMs()),
        config.policy(),
        config.memoryGuard(),
        config.loadStaleAfterMs());
  }

  private static long toClockMs(long since1970Ms) {
    return since1970Ms - System.currentTimeMillis() + MonotonicClock.ms();
  }

  /** All controllers; they are told in this order. */
  private List<Controller> controllers(ControllerContext context, DraNodes draNodes) {
    var mistakes = new MistakeEvents(context);
    var pins =
        new PinChecks(
            context,
            key ->
                storedPods.of(key).map(pod -> pod.map(StoredPod::selection).map(core.traits::pin)),
            core.traits::size);
    Supplier<Stream<GpuFacts>> gpus =
        () -> core.ledger.nodes().stream().flatMap(node -> core.ledger.gpus(node).stream());
    return List.of(
        context.nodes(),
        new NodeEventWriter(
            context, new ConfigMapEvents(context, config.namespace(), config.configMap())),
        new NodeLabels(context),
        new DraLabels(context, draNodes::served),
        new StartupTaints(context),
        new NodeUseWriter(context, config.resources().getFirst(), config.nodeUseAnnotation()),
        new UnknownCordons(context),
        PodRules.unshared(config.schedulerName(), mistakes),
        PodRules.unconverted(
            config.unconvertedNamespaces(), config.resources().getFirst(), mistakes),
        new PodScan(context, core.ledger::pods, PodRules.outdatedShare(gpus), mistakes),
        new PodScan(context, core.ledger::pods, PodRules.unknownUuid(gpus), mistakes),
        new DuplicateAllocations(context, mistakes),
        mistakes,
        new WaitSurvey(context, new SurveyTurns(), List.of(new WaitEvents(context), pins)));
  }

  private final class SurveyTurns implements WaitSurvey.Turns {
    @Override
    public Future<List<NodeSnapshot>> nodes(PodFacts pod) {
      return explain.nodes(pod, loop);
    }

    @Override
    public <T> Future<T> aside(Callable<T> work) {
      return loop.completeOnLoop(vertx.executeBlocking(work, false));
    }

    @Override
    public void later(Runnable task) {
      loop.run(task);
    }
  }

  private VerbServer verbServer() {
    var all =
        new Verbs(
            new Filter(core, state, metrics, config.offeredNodesMax(), loop::run),
            new Prioritize(core, state),
            new Bind(core, state, api, metrics),
            new Preempt(
                core,
                state,
                metrics,
                loop::run,
                task -> vertx.setTimer(SOON_MS, due -> loop.run(task))));
    var routes =
        new VerbRoutes(
            vertx, new ExtenderReader(config.resources()), all, metrics, VerbRoutes.READ_WITHIN_MS);
    return new VerbServer(
        config.verbs(),
        port("verbs", VerbServer.limits(config.verbsTls())),
        state.readiness,
        routes::handle,
        loop);
  }

  private ReadApi readApi(InspectionCache inspections, AccessReviewer access) {
    return new ReadApi(
        vertx,
        transport,
        new ReadApi.Addresses(config.api(), config.apiLocal(), config.apiAggregated()),
        config.viewerRole(),
        access,
        new ReadApi.Sources(
            loop,
            inspections,
            state.readiness::notReady,
            explain,
            storedPods::of,
            new WhatIf(
                core.ledger, core.evaluator, core.packing, config.offeredNodesMax(), core.clockMs),
            config.resources(),
            // Without a port nobody could read the history.
            config.servesApi() ? config.historyBytesMax() : 0,
            config.clusterName(),
            core),
        metrics);
  }

  /** Opens the ports that need a certificate, one after the other, or renews it. */
  private Future<Void> serve(ServingCertificate own) {
    return streamServer
        .serve(own.certificate())
        .compose(open -> config.verbsTls() ? serveVerbs(own) : Future.succeededFuture())
        .compose(
            open -> {
              state.readiness.portsOpened();
              readApi.setCertificate(own.certificate());
              if (config.apiAggregated() != null) {
                own.authorities().ifPresent(apiService::set);
                vertx.executeBlocking(apiService::check);
              }
              return Future.succeededFuture();
            });
  }

  private Future<Void> serveVerbs(ServingCertificate own) {
    if (!config.verbsClientCertificate()) {
      return serveVerbs(own.certificate(), null);
    }
    if (own.authorities().isEmpty()) {
      return Future.failedFuture(
          "it has no ca.crt: kube-scheduler's certificate is verified by it");
    }
    var clients =
        new ClientCertificates(
            own.authorities().get(), config.schedulerClient(), metrics::recordClientCertificate);
    return serveVerbs(own.certificate(), clients);
  }

  private Future<Void> serveVerbs(
      @Nullable PemKeyCertOptions certificate, @Nullable ClientCertificates clients) {
    return verbs.serve(certificate, clients).onSuccess(serving -> verbsSlice.opened(verbs.port()));
  }

  private ListeningPort port(String name, ConnectionLimits limits) {
    var port = new ListeningPort(vertx, transport, name, limits);
    metrics.connections(port);
    return port;
  }

  void watchLoops() {
    LoopWatch.start(vertx);
  }

  /** Completes when the ports that need no certificate are open. */
  public Future<Void> start() {
    return vertx
        .deployVerticle(streamServer)
        .onSuccess(deployed -> startWatchesAndPorts())
        .compose(deployed -> config.verbsTls() ? Future.succeededFuture() : serveVerbs(null, null))
        .compose(listening -> ops.port(this::probe).listen(opsPort, config.metrics()))
        .onSuccess(
            server -> {
              opsServer = server;
              readApi.start();
              if (config.leaderElect()) {
                leadership.start();
                verbsSlice.start();
              }
            })
        .mapEmpty();
  }

  private void startWatchesAndPorts() {
    starts.forEach(Runnable::run);
    every(TICK_MS, () -> metrics.failures.task("the tick", state::tick));
    // In a turn of its own, since both take several milliseconds after a new list of all nodes.
    every(TICK_MS, () -> metrics.failures.task("the wake-up", state.waker::tick));
    every(EVERY_SECOND_MS, this::everySecond);
    every(EVERY_SECOND_MS, informers::everySecond);
    every(EVERY_TEN_SECONDS_MS, controllers::everyTenSeconds);
  }

  /** The timer fires on the loop, after the work that is before it. */
  private void every(long ms, Runnable task) {
    loop.run(() -> vertx.setPeriodic(ms, due -> task.run()));
  }

  private void everySecond() {
    ready = missing().or(state.readiness::notReady).isEmpty();
    controllers.tick();
  }

  /** Takes a snapshot in steps, so that verbs are answered in between. */
  private Future<Inspection> inspect() {
    return loop.submit(() -> core.inspector.readAhead(core.nowMs(), timeOfDay()))
        .compose(
            more ->
                more
                    ? inspect()
                    : loop.submit(() -> core.inspector.inspect(core.nowMs(), timeOfDay())));
  }

  private static Instant timeOfDay() {
    return Instant.now().truncatedTo(ChronoUnit.MILLIS);
  }

  /** Returns what readiness lacks beside what is not read yet. */
  private Optional<String> missing() {
    Optional<String> missing =
        config.leaderElect()
            ? ports.missing().or(leadership::leaderless).or(verbsSlice::missing)
            : ports.missing();
    return missing.or(core.ledger.acknowledgements::mostMissing);
  }

  private Future<Probe> probe() {
    return loop.submit(
        () -> {
          Optional<String> why = missing().or(state.readiness::notReady);
          Optional<String> awaiting = state.readiness.awaitingFirstReports();
          String ready = awaiting.map("ready; "::concat).orElse("ready");
          return new Probe(why.isEmpty(), why.orElse(ready));
        });
  }

  public int verbsPort() {
    return verbs.port();
  }

  public int metricsPort() {
    return opsServer == null ? -1 : opsServer.actualPort();
  }

  public int streamPort() {
    return streamServer.port();
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
    metrics.failures.stopping();
    leadership.stop();
    if (api.drainBinds()) {
      leadership.release();
    } else {
      LOG.warn("Bindings are still in flight; leaving the Lease to expire");
    }
    verbsSlice.close();
    ends.forEach(Runnable::run);
    try {
      vertx.close().await(STOP_S, TimeUnit.SECONDS);
    } catch (TimeoutException slow) {
      LOG.warn("open calls did not end within {} s", STOP_S);
    }
  }
}
