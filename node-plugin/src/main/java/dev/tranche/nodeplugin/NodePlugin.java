package dev.tranche.nodeplugin;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.nodeplugin.config.Options;
import dev.tranche.nodeplugin.events.EventBuffer;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.HeldFile;
import dev.tranche.nodeplugin.gpu.NodeProblem;
import dev.tranche.nodeplugin.gpu.NodeReplicas;
import dev.tranche.nodeplugin.gpu.NvmlThread.WatchState;
import dev.tranche.nodeplugin.gpu.Replica;
import dev.tranche.nodeplugin.gpu.Replica.Stage;
import dev.tranche.nodeplugin.kubelet.AssignmentFile;
import dev.tranche.nodeplugin.kubelet.Assignments;
import dev.tranche.nodeplugin.kubelet.Hardware;
import dev.tranche.nodeplugin.kubelet.Kubelet;
import dev.tranche.nodeplugin.kubelet.KubeletParts;
import dev.tranche.nodeplugin.limit.ExpectedLimit;
import dev.tranche.nodeplugin.limit.LimitGauges;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.mps.MpsAvailability;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.stream.Exchange;
import dev.tranche.nodeplugin.stream.ReportStreams;
import dev.tranche.nodeplugin.stream.Resolver;
import dev.tranche.nodeplugin.stream.StreamParts;
import dev.tranche.nodeplugin.usage.Overuse;
import dev.tranche.process.loop.MonotonicClock;
import dev.tranche.process.meters.Failures;
import dev.tranche.process.ops.Probe;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connects the parts of the plugin. GPUs and config yield replicas, which go to the kubelet. The
 * whole state goes to the extenders, and their directives come back. Confined to the event loop.
 */
final class NodePlugin implements Kubelet.Listener, Exchange {
  private static final Logger LOG = LoggerFactory.getLogger(NodePlugin.class);
  private static final int LINGER_MS = 2_000;
  private static final int LINGER_STEP_MS = 50;

  private final Vertx vertx;
  private final NodeMetrics metrics = new NodeMetrics();
  private final Failures failures = metrics.failures();
  private final PluginState state;
  private final EventBuffer events =
      new EventBuffer(metrics, System::currentTimeMillis, this::sendReport);
  private final Assignments assignments = new Assignments();
  private final StateKeeper assignmentKeeper;
  private final StateKeeper heldKeeper;
  private final Kubelet kubelet;
  private final CdiKeeper cdi;
  private final Optional<ReportStreams> streams;
  private final ReportBuilder reports;
  private final MpsKeeper mps;
  private final SampleEvents sampleEvents;
  private final ProblemEvents problems = new ProblemEvents(events, metrics);
  private final ConfigApplier configs;
  private final Host host;
  private boolean draining;
  // What the NVML thread has said last.
  private WatchState watch = WatchState.NONE;

  /** What the plugin asks of its process. Called on the event loop. */
  interface Host {
    /** The node's config label has this value, by a directive; empty: no label. */
    default void label(String value) {}

    /** The latest config fits the GPUs and is in use. */
    default void configUsed() {}

    /** These limits should be found; called every second. */
    default void expect(List<ExpectedLimit> limits) {}

    /** The process must be restarted. */
    default void unusable(String reason) {}
  }

  NodePlugin(
      Vertx vertx, Options options, Supplier<Hardware> hardware, Resolver resolver, Host host) {
    this.vertx = vertx;
    this.host = host;
    this.state = new PluginState(hardware);
    this.configs = new ConfigApplier(state, events, metrics, host);
    this.assignmentKeeper = keeper(options, AssignmentFile.NAME, this::assignmentFile);
    this.heldKeeper = keeper(options, HeldFile.NAME, () -> HeldFile.content(state.held().all()));
    this.kubelet =
        new Kubelet(
            new KubeletParts(vertx, options, hardware, metrics, this),
            assignments,
            state.held(),
            failures);
    this.cdi = new CdiKeeper(vertx, options.cdiRoot(), hardware, metrics, this::publish);
    this.streams =
        options
            .extender()
            .map(
                at ->
                    new ReportStreams(
                        new StreamParts(vertx, options, this, metrics), at, resolver));
    this.mps = new MpsKeeper(vertx, options, state, events, metrics);
    Overuse overuse = new Overuse(options.overuse());
    this.reports = new ReportBuilder(options.nodeName(), UUID.randomUUID().toString(), overuse);
    if (options.podMetrics()) {
      metrics.showContainers(options.nodeName());
    }
    this.sampleEvents = new SampleEvents(events, metrics, overuse, MonotonicClock::ms);
    gauges();
  }

  private void gauges() {
    metrics.registerProcess();
    metrics.gauge(
        "tranche.node.replicas.advertised",
        "Replicas advertised to the kubelet.",
        () -> count(of -> of.stage() != Stage.RETIRED));
    metrics.gauge(
        "tranche.node.replicas.healthy",
        "Replicas advertised to the kubelet as healthy.",
        () -> count(Replica::healthy));
    metrics.gauge(
        "tranche.node.replicas.retired",
        "Replicas of an earlier config, kept until their containers end.",
        () -> count(of -> of.stage() == Stage.RETIRED));
    metrics.gauge(
        "tranche.node.replicas.withheld",
        "Replicas whose part of the GPU is held by replicas of an earlier config.",
        () -> count(of -> of.stage() == Stage.WITHHELD));
    metrics.gauge(
        "tranche.node.replicas.duplicate",
        "Replicas that the kubelet gave to more than one pod; 0 on a correct kubelet.",
        () -> state.held().duplicates());
    metrics.gauge(
        "tranche.node.config.errors",
        "1 while the requested config cannot be used, else 0.",
        () -> state.configStatus().getError().isEmpty() ? 0 : 1);
    metrics.gauge(
        "tranche.node.assignments.outstanding",
        "Assignments that the kubelet has not carried out yet.",
        assignments::size);
    metrics.gauge(
        "tranche.node.mps.daemon.missing",
        "1 while the config needs an MPS control daemon that does not serve, else 0.",
        () -> state.mps().reason().isEmpty() ? 0 : 1);
    metrics.gauge(
        "tranche.node.gpus.unwatched",
        "GPUs whose errors (XIDs) are not seen, so that only their loss is detected.",
        () -> watch.unwatched().size());
    metrics.gauge(
        "tranche.node.registered",
        "1 while the plugin is registered with the kubelet, else 0.",
        () -> kubelet.registered() ? 1 : 0);
    LimitGauges.register(metrics, state::containerLimits);
  }

  private int count(Predicate<Replica> which) {
    return state.replicas().map(replicas -> replicas.count(which)).orElse(0);
  }

  Failures failures() {
    return failures;
  }

  NodeMetrics metrics() {
    return metrics;
  }

  /** Reads what an earlier run has kept. Blocks; before {@link #start}. */
  void load() {
    long nowMs = MonotonicClock.ms();
    assignmentKeeper.load(
        kept ->
            AssignmentFile.parse(kept, System.currentTimeMillis())
                .forEach(a -> assignments.receive(a, nowMs)));
    heldKeeper.load(kept -> state.held().restore(HeldFile.parse(kept)));
    mps.load();
  }

  private StateKeeper keeper(Options options, String name, Supplier<byte[]> content) {
    return new StateKeeper(vertx, options.stateDir().resolve(name), metrics, content);
  }

  private byte[] assignmentFile() {
    return AssignmentFile.content(
        assignments.remaining(MonotonicClock.ms()), System.currentTimeMillis());
  }

  void start() {
    streams.ifPresent(ReportStreams::start);
  }

  /** Checks what no event reports. Must be called every second. */
  void tick() {
    failures.task("the expiry of assignments", this::expire);
    failures.task("the check of MPS", () -> mps.check(this::publish));
    kubelet.check();
    failures.task("the report of problems", this::reportProblems);
    failures.task("the limits of containers", () -> host.expect(state.expectedLimits()));
  }

  private void reportProblems() {
    List<NodeProblem> now = new ArrayList<>(watch.problems());
    cdi.problem().ifPresent(now::add);
    state.limitProblem().ifPresent(now::add);
    LimitGauges.problem(state.containerLimits()).ifPresent(now::add);
    problems.update(now, MonotonicClock.ms());
  }

  private void expire() {
    if (assignments.expire(MonotonicClock.ms())) {
      LOG.warn("assignments expired that the kubelet never allocated");
      assignmentsChanged();
    }
  }

  /** Takes a new sample of the GPUs, and what is wrong with the watch over them. */
  void sampled(List<GpuStatus> gpus, WatchState nowWatched) {
    observe(nowWatched);
    List<GpuStatus> before = state.gpus();
    state.gpus(gpus).ifPresent(configs::planned);
    metrics.gpus(gpus);
    publish();
    // Last, since what is said about the GPUs must not keep their health from the kubelet.
    boolean cordons = sampleEvents.sampled(state, before);
    if (reports.markReportedIfChanged(gpus) || cordons) {
      sendReport();
    }
  }

  private void observe(WatchState now) {
    List<String> silent = now.withoutErrorReports();
    if (!silent.isEmpty() && !silent.equals(watch.withoutErrorReports())) {
      events.node(
          "GpuHealthUnwatched",
          "NVML reports no errors (XIDs) of %s: it is advertised without health checks"
                  .formatted(String.join(", ", silent))
              + ", and only its loss is detected",
          true);
    }
    watch = now;
  }

  /** NVML does not start; it will be tried again. */
  void driverAwaited(String reason) {
    state.driverAwaited(reason);
  }

  /** Takes another config, or the reason why there is none. */
  void configured(Outcome outcome) {
    configs.apply(outcome);
    publish();
    sendReport();
  }

  private void publish() {
    if (mps.update()) {
      sendReport();
    }
    if (!draining) {
      state.replicas().flatMap(this::withSpecs).ifPresent(kubelet::publish);
    }
  }

  // Health must still be published, even if a newer spec cannot be written.
  private Optional<NodeReplicas> withSpecs(NodeReplicas replicas) {
    List<GpuInfo> gpus = state.gpus().stream().map(GpuStatus::info).toList();
    return cdi.gpusWithSpecs(replicas.config().allocate(), gpus).map(replicas::healthyOnly);
  }

  @Override
  public void registrationChanged() {
    sendReport();
  }

  @Override
  public void occupied(String sentence) {
    events.node("ResourceOccupied", sentence, true);
  }

  @Override
  public void folderRemoved(Path folder) {
    host.unusable("the kubelet's folder " + folder + " was removed; a restart mounts the new one");
  }

  @Override
  public void readBack(List<Holding> holdings, boolean complete, boolean assignmentsConfirmed) {
    boolean changed = state.holdings(holdings);
    boolean held = state.held(holdings, complete, MonotonicClock.ms());
    if (held) {
      heldKeeper.save();
      publish();
    }
    if (assignmentsConfirmed) {
      assignmentKeeper.save();
    }
    if (changed || held || assignmentsConfirmed) {
      sendReport();
    }
  }

  // Not published at once: the kubelet records its pick only after our answer.
  @Override
  public void allocated() {
    heldKeeper.save();
  }

  private void sendReport() {
    streams.ifPresent(ReportStreams::sendAll);
  }

  @Override
  public NodeReport.Builder report() {
    long nowMs = MonotonicClock.ms();
    NodeReport.Builder report =
        reports
            .report(state, kubelet.registered(), System.currentTimeMillis(), nowMs)
            .setDraining(draining)
            .addAllAssignments(assignments.remaining(nowMs))
            .addAllEvents(events.newest());
    kubelet
        .listAgeMs(nowMs)
        .ifPresent(age -> report.setHoldingsAgeMs((int) Math.min(Integer.MAX_VALUE, age)));
    return report;
  }

  @Override
  public void apply(NodeDirective directive) {
    long nowMs = MonotonicClock.ms();
    directive.getRetractPodUidsList().forEach(uid -> assignments.retract(uid, nowMs));
    for (Assignment assignment : directive.getAssignList()) {
      failures.task("an assignment", () -> assignments.receive(assignment, nowMs));
    }
    if (directive.getAssignCount() + directive.getRetractPodUidsCount() > 0) {
      assignmentsChanged();
    }
    if (directive.hasConfigName()) {
      host.label(directive.getConfigName());
    }
  }

  private void assignmentsChanged() {
    assignmentKeeper.save();
    sendReport();
  }

  /**
   * Returns the readiness. A node without a GPU is ready: the DaemonSet runs there too, and its
   * rollout must not wait.
   */
  Probe readiness() {
    List<String> missing = missing();
    // Without its MPS control daemon it may lack the label on purpose, as it may lack a driver.
    String idle = state.idleReason().orElse(missing.isEmpty() ? state.mps().reason() : "");
    if (!idle.isEmpty()) {
      return new Probe(true, idle);
    }
    return missing.isEmpty() ? Probe.ALIVE : new Probe(false, String.join("\n", missing));
  }

  private List<String> missing() {
    List<String> missing = new ArrayList<>();
    if (!state.gpusKnown()) {
      missing.add("NVML has not listed the GPUs yet");
    }
    if (!state.configKnown()) {
      missing.add("no config is in use: " + state.configStatus().getError());
    }
    if (state.mps() instanceof MpsAvailability.Lost lost) {
      missing.add(lost.reason());
    }
    if (!kubelet.registered()) {
      missing.add("the kubelet has not accepted the registration yet");
      missing.addAll(kubelet.complaints());
    }
    if (streams.isPresent() && !streams.get().anyConnected()) {
      missing.add("no extender is connected");
    }
    return missing;
  }

  /**
   * Drains and stops the plugin. Informs the extenders first, so that they bind no more pods to
   * this node.
   */
  Future<Void> stop() {
    draining = true;
    Future<Void> drained = streams.map(ReportStreams::drain).orElseGet(Future::succeededFuture);
    return drained.compose(v -> awaitOutstanding(0)).compose(v -> kubelet.stop());
  }

  // Waits for pods that were bound just before: without our socket the kubelet would fail them for
  // good.
  private Future<Void> awaitOutstanding(int waitedMs) {
    if (assignments.size() == 0 || waitedMs >= LINGER_MS) {
      return Future.succeededFuture();
    }
    return vertx
        .timer(LINGER_STEP_MS, TimeUnit.MILLISECONDS)
        .compose(v -> awaitOutstanding(waitedMs + LINGER_STEP_MS));
  }
}
