package dev.tranche.nodeplugin;

import dev.tranche.nodeplugin.config.ConfigSource;
import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.nodeplugin.config.Options;
import dev.tranche.nodeplugin.config.Setting;
import dev.tranche.nodeplugin.gpu.GpuLinkScores;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.GpuWatch;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.gpu.NvmlThread;
import dev.tranche.nodeplugin.kubelet.Hardware;
import dev.tranche.nodeplugin.limit.ExpectedLimit;
import dev.tranche.nodeplugin.limit.LimitReader;
import dev.tranche.nodeplugin.limit.NodeLimits;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.nvml.JnaNvml;
import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import dev.tranche.nodeplugin.stream.Resolver;
import dev.tranche.nodeplugin.usage.ContainerCgroups;
import dev.tranche.nodeplugin.usage.UsageReader;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.loop.LoopWatch;
import dev.tranche.process.loop.MonotonicClock;
import dev.tranche.process.settings.Settings;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One run of the process: its event loop, its NVML thread, and how they end. */
final class NodeProcess implements NvmlThread.Listener, NodePlugin.Host {
  private static final Logger LOG = LoggerFactory.getLogger(NodeProcess.class);
  private static final int STOP_LIMIT_MS = 4_000;
  private static final int TICK_MS = 1_000;
  private static final int REREAD_MS = 10_000;
  private static final int BLOCKED_CHECK_MS = 5_000;

  private final Options options;
  private final LimitedTransport transport = new LimitedTransport();
  private final Vertx vertx;
  private final Context loop;
  private final NodePlugin plugin;
  private final ConfigKeeper configs;
  private final LimitReader limitReader;
  private final NvmlThread nvml;
  // From the first config; read by the NVML thread.
  private volatile boolean failOnInitError;
  private volatile Path driverRoot;
  private volatile Hardware hardware;
  private final CompletableFuture<Integer> ended = new CompletableFuture<>();
  // Written by the NVML thread only.
  private String complaint = "";
  private long rereadAtMs;

  NodeProcess(Settings<Setting> settings, Options options, ConfigSource source) {
    this.options = options;
    this.failOnInitError = settings.isTrue(Setting.FAIL_ON_INIT_ERROR);
    this.driverRoot = Path.of(settings.text(Setting.DRIVER_ROOT_CTR_PATH));
    this.vertx = transport.vertx(vertxOptions());
    this.loop = vertx.getOrCreateContext();
    this.plugin = new NodePlugin(vertx, options, () -> hardware, Resolver.system(), this);
    this.configs =
        new ConfigKeeper(vertx, source, options.stateDir(), plugin.metrics(), plugin::configured);
    this.limitReader =
        new LimitReader(
            options.limits(),
            new ContainerCgroups(
                options.limits().cgroups(), options.hostLog(), MonotonicClock::ms));
    this.hardware =
        Hardware.NONE.withLimits(NodeLimits.of(options.limits(), Optional.empty()), List.of());
    this.nvml =
        new NvmlThread(
            () -> JnaNvml.open(driverRoot),
            new GpuWatch(
                options.health(),
                new UsageReader(options.hostProc(), options.hostLog(), MonotonicClock::ms),
                MonotonicClock::ms,
                plugin.failures()),
            options.sampleIntervalMs(),
            MonotonicClock::ms,
            this);
  }

  /** One event loop does all work; only file access and name lookups block. */
  private static VertxOptions vertxOptions() {
    return new VertxOptions()
        .setEventLoopPoolSize(1)
        .setWorkerPoolSize(2)
        .setInternalBlockingPoolSize(2)
        .setBlockedThreadCheckInterval(BLOCKED_CHECK_MS)
        .setFileSystemOptions(
            new FileSystemOptions()
                .setClassPathResolvingEnabled(false)
                .setFileCachingEnabled(false));
  }

  /** Runs until stopped and returns the exit status. */
  int run() {
    LoopWatch.start(vertx);
    LOG.info("options: {}", options);
    plugin.load();
    Outcome first = configs.load();
    Optional<Outcome.Usable> kept = configs.fallback();
    // An extender may send another label. Without one, the start must say what is wrong.
    if (first instanceof Outcome.Refused refused
        && kept.isEmpty()
        && options.extender().isEmpty()) {
      LOG.error("config {}: {}", refused.name(), refused.reason());
      return 2;
    }
    List<Outcome> all = Stream.concat(kept.stream(), Stream.of(first)).toList();
    all.forEach(this::initWith);
    loop.runOnContext(v -> startParts(all));
    // A library that crashes ends the process, so this is the last line then.
    LOG.info("starting NVML, as installed here or under {}", driverRoot);
    nvml.start();
    return ended.join();
  }

  private void initWith(Outcome outcome) {
    if (outcome instanceof Outcome.Usable usable) {
      failOnInitError = usable.config().failOnInitError();
      driverRoot = Path.of(usable.config().allocate().driverRootInContainer());
    }
  }

  /**
   * @param outcomes the config of an earlier run if the newest is another one, then the newest
   */
  private void startParts(List<Outcome> outcomes) {
    outcomes.forEach(plugin::configured);
    plugin.start();
    NodeMetrics metrics = plugin.metrics();
    metrics.gauge(
        "tranche.node.ready",
        "1 while /readyz says ready, else 0.",
        () -> plugin.readiness().passed() ? 1 : 0);
    vertx.setPeriodic(TICK_MS, id -> tick());
    metrics
        .serve(vertx, transport, options.metrics(), plugin::readiness)
        .onSuccess(server -> LOG.info("metrics on port {}", server.actualPort()))
        .onFailure(
            e -> {
              LOG.error("cannot serve metrics on {}: {}", options.metrics(), e.toString());
              ended.complete(1);
            });
  }

  // One timer runs all checks of each second: a wake-up costs more than the checks.
  private void tick() {
    plugin.failures().task("the check of NVML", this::checkNvml);
    plugin.failures().task("the check of the config", configs::check);
    plugin.tick();
  }

  @Override
  public void label(String value) {
    configs.label(value);
  }

  @Override
  public void configUsed() {
    configs.recordUsed();
  }

  @Override
  public void expect(List<ExpectedLimit> limits) {
    limitReader.expect(limits);
  }

  @Override
  public void unusable(String reason) {
    LOG.error("{}", reason);
    ended.complete(1);
  }

  // A thread that waits in NVML cannot be woken, so the event loop must report it.
  private void checkNvml() {
    Optional<String> failure = nvml.failure();
    if (failure.isPresent() && ended.complete(1)) {
      LOG.error("{}; the process ends, so that it starts again", failure.get());
    }
  }

  @Override
  public boolean unavailable(NvmlException reason) {
    if (failOnInitError) {
      LOG.error("{}; set FAIL_ON_INIT_ERROR=false to wait for a driver", reason.getMessage());
      ended.complete(1);
      return false;
    }
    if (!complaint.equals(reason.getMessage())) {
      complaint = reason.getMessage();
      LOG.warn("waiting for a driver: {}", complaint);
      loop.runOnContext(v -> plugin.driverAwaited(reason.getMessage()));
    }
    return true;
  }

  // A missing GPU causes many restarts with the same driver.
  @Override
  public void started(String driverVersion, GpuLinkScores linkScores) {
    if (!driverVersion.equals(hardware.driverVersion())) {
      LOG.info("NVML of driver {}", driverVersion);
    }
    complaint = "";
    rereadAtMs = Long.MIN_VALUE;
    hardware = hardware.started(driverVersion, nodes(), linkScores);
  }

  private HostNodes nodes() {
    return HostNodes.find(Path.of("/"), driverRoot);
  }

  // Device nodes appear with kernel modules, which the driver may load at their first use.
  @Override
  public void read(Nvml session, Map<String, Integer> indexes) {
    long nowMs = MonotonicClock.ms();
    if (nowMs < rereadAtMs) {
      return;
    }
    rereadAtMs = nowMs + REREAD_MS;
    plugin
        .failures()
        .task("the search for device nodes", () -> hardware = hardware.withNodes(nodes()));
    if (options.limits().required()) {
      LimitReader.Result limits = limitReader.read(session, indexes);
      hardware = hardware.withLimits(limits.node(), limits.containers());
    }
  }

  @Override
  public void sampled(List<GpuStatus> gpus, NvmlThread.WatchState watch) {
    loop.runOnContext(v -> plugin.sampled(gpus, watch));
  }

  @Override
  public void crashed() {
    ended.complete(1);
  }

  /**
   * Drains, disconnects from the kubelet, and ends the process. Blocks; called by the shutdown
   * hook.
   */
  void stop() {
    CompletableFuture<Void> stopped = new CompletableFuture<>();
    loop.runOnContext(v -> plugin.stop().onComplete(done -> stopped.complete(null)));
    try {
      stopped.get(STOP_LIMIT_MS, TimeUnit.MILLISECONDS);
    } catch (Exception e) {
      LOG.warn("the plugin did not stop cleanly: {}", e.toString());
    }
    nvml.close();
    ended.complete(0);
  }
}
