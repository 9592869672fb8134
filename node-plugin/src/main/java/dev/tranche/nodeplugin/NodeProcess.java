package dev.tranche.nodeplugin;

import dev.tranche.api.listen.ConnectionLimits;
import dev.tranche.api.listen.LimitedTransport;
import dev.tranche.nodeplugin.config.ConfigErrors;
import dev.tranche.nodeplugin.config.ConfigSource;
import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.nodeplugin.config.Options;
import dev.tranche.nodeplugin.config.Setting;
import dev.tranche.nodeplugin.config.Settings;
import dev.tranche.nodeplugin.config.WatchOptions;
import dev.tranche.nodeplugin.gpu.GpuLinkScores;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.GpuWatch;
import dev.tranche.nodeplugin.gpu.Hardware;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.gpu.NvmlThread;
import dev.tranche.nodeplugin.gpu.NvmlWatchdog;
import dev.tranche.nodeplugin.metrics.MetricsServer;
import dev.tranche.nodeplugin.nvml.JnaNvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import dev.tranche.nodeplugin.stream.Resolver;
import dev.tranche.nodeplugin.usage.UsageReader;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One run of the process: one event loop, the NVML thread, and how they end. */
final class NodeProcess implements NvmlThread.Listener {
  private static final Logger LOG = LoggerFactory.getLogger(NodeProcess.class);
  private static final int STOP_LIMIT_MS = 4_000;
  private static final int TICK_MS = 1_000;
  private static final int NODES_MS = 10_000;
  private static final int BLOCKED_CHECK_MS = 5_000;

  private final Options options;
  private final WatchOptions watch;
  private final LimitedTransport transport = new LimitedTransport();
  private final Vertx vertx;
  private final Context loop;
  private final NodePlugin plugin;
  private final ConfigKeeper configs;
  private final NvmlThread nvml;
  private final NvmlWatchdog pulse;
  // As the first config has them; read by the NVML thread.
  private volatile boolean failOnInitError;
  private volatile Path driverRoot;
  private volatile Hardware hardware = Hardware.NONE;
  private final CompletableFuture<Integer> ended = new CompletableFuture<>();
  // Null: the loop has taken it. A sample without a GPU is one, too.
  private final AtomicReference<@Nullable List<GpuStatus>> latest = new AtomicReference<>();
  // Of the NVML thread.
  private String complaint = "";
  private long nodesSeenMs;
  private volatile boolean startedOnce;
  // Of the loop.
  private boolean silenceTold;
  private boolean slownessTold;

  NodeProcess(Settings settings, Options options, WatchOptions watch, ConfigSource source) {
    this.options = options;
    this.watch = watch;
    this.failOnInitError = settings.isTrue(Setting.FAIL_ON_INIT_ERROR, new ConfigErrors());
    this.driverRoot = Path.of(settings.text(Setting.DRIVER_ROOT_CTR_PATH));
    this.vertx = transport.vertx(small());
    this.loop = vertx.getOrCreateContext();
    this.plugin =
        new NodePlugin(vertx, options, watch.overuse(), () -> hardware, Resolver.system());
    this.configs =
        new ConfigKeeper(vertx, source, options.stateDir(), plugin.metrics(), plugin::configured);
    this.pulse = new NvmlWatchdog(options.sampleIntervalMs(), () -> System.nanoTime() / 1_000_000);
    this.nvml =
        new NvmlThread(
            () -> JnaNvml.open(driverRoot), gpuWatch(watch), options.sampleIntervalMs(), this);
  }

  private static GpuWatch gpuWatch(WatchOptions watch) {
    // Durations must not wait where somebody sets the wall's clock back.
    LongSupplier clockMs = () -> System.nanoTime() / 1_000_000;
    return new GpuWatch(
        watch.health(), new UsageReader(watch.hostProc(), watch.hostLog(), clockMs), clockMs);
  }

  /** One loop carries all; files and names are the only things that block. */
  private static VertxOptions small() {
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

  /** Runs until stopped; the process's exit status. */
  int run() {
    LOG.info("options: {}, {}", options, watch);
    plugin.load();
    Outcome first = configs.load();
    Optional<Outcome.Usable> kept = configs.fallback();
    if (first instanceof Outcome.Refused refused && kept.isEmpty() && !mayBeCured()) {
      LOG.error("config {}: {}", refused.name(), refused.reason());
      return 2;
    }
    List<Outcome> all = Stream.concat(kept.stream(), Stream.of(first)).toList();
    all.forEach(this::initWith);
    loop.runOnContext(v -> startParts(all));
    nvml.start();
    return ended.join();
  }

  private void initWith(Outcome outcome) {
    if (outcome instanceof Outcome.Usable usable) {
      failOnInitError = usable.config().failOnInitError();
      driverRoot = Path.of(usable.config().allocate().driverRootInContainer());
    }
  }

  // Another label or a mended ConfigMap may come; without an extender nobody would tell.
  private boolean mayBeCured() {
    return options.extender().isPresent();
  }

  /**
   * @param outcomes the one that was in use before where the newest is another, then the newest
   */
  private void startParts(List<Outcome> outcomes) {
    plugin.onLabel(configs::label);
    plugin.onUnusable(this::unusable);
    plugin.onUsed(configs::used);
    outcomes.forEach(plugin::configured);
    plugin.start();
    plugin
        .metrics()
        .gauge(
            "tranche.node.nvml.silence.seconds",
            "Time since NVML last answered; 0 while no driver is there to be asked.",
            () -> pulse.silentMs() / 1_000.0);
    plugin
        .metrics()
        .gauge(
            "tranche.node.ready",
            "1 while /readyz says ready, else 0.",
            () -> plugin.readiness(pulse.slow()).ready() ? 1 : 0);
    vertx.setPeriodic(TICK_MS, id -> tick());
    new MetricsServer(
            plugin.metrics(),
            () -> plugin.readiness(pulse.slow()),
            pulse::alive,
            ConnectionLimits.METRICS)
        .listen(vertx, transport, options.metrics())
        .onSuccess(server -> LOG.info("metrics on port {}", server.actualPort()))
        .onFailure(
            e -> {
              LOG.error("cannot serve metrics on {}: {}", options.metrics(), e.toString());
              ended.complete(1);
            });
  }

  // All that is looked at every second, by one timer: to wake up costs more than to look.
  private void tick() {
    listen();
    configs.check();
    plugin.tick();
  }

  private void unusable(String reason) {
    LOG.error("{}", reason);
    ended.complete(1);
  }

  // Nothing that waits in NVML can be woken, so somebody else must say it.
  private void listen() {
    Optional<String> slow = pulse.slow();
    if (slow.isPresent() && !slownessTold) {
      LOG.warn("{}", slow.get());
    }
    slownessTold = slow.isPresent();
    List<String> silence = pulse.alive().sentences();
    if (silence.isEmpty()) {
      silenceTold = false;
    } else if (!silenceTold) {
      silenceTold = true;
      LOG.error("{}; only a new process can go on", String.join("; ", silence));
      if (!startedOnce && failOnInitError) {
        ended.complete(1);
      }
    }
  }

  @Override
  public void starting() {
    pulse.start();
    // A library that crashes takes the process with it: this is the last line then.
    if (!startedOnce && complaint.isEmpty()) {
      LOG.info("starting NVML, as installed here or under {}", driverRoot);
    }
  }

  @Override
  public boolean unavailable(NvmlException reason) {
    pulse.rest();
    if (failOnInitError) {
      LOG.error("{}; set FAIL_ON_INIT_ERROR=false to wait for a driver", reason.getMessage());
      ended.complete(1);
      return false;
    }
    if (!complaint.equals(reason.getMessage())) {
      complaint = reason.getMessage();
      LOG.warn("waiting for a driver: {}", complaint);
      String told = complaint;
      loop.runOnContext(v -> plugin.driverAwaited(told));
    }
    return true;
  }

  @Override
  public void started(String driverVersion) {
    LOG.info("NVML of driver {}", driverVersion);
    complaint = "";
    startedOnce = true;
    pulse.beat();
    hardware = new Hardware(driverVersion, nodes(), GpuLinkScores.UNKNOWN);
    loop.runOnContext(v -> plugin.driverStarted(driverVersion));
  }

  private HostNodes nodes() {
    nodesSeenMs = System.nanoTime() / 1_000_000;
    return HostNodes.find(Path.of("/"), driverRoot);
  }

  // Device nodes come with modules that the driver may load at their first use.
  private void lookForNodes() {
    if (System.nanoTime() / 1_000_000 - nodesSeenMs >= NODES_MS) {
      hardware = new Hardware(hardware.driverVersion(), nodes(), hardware.closeness());
    }
  }

  @Override
  public void linked(GpuLinkScores closeness) {
    hardware = new Hardware(hardware.driverVersion(), hardware.nodes(), closeness);
  }

  // The loop takes the latest sample; those it was too slow for are overwritten.
  @Override
  public void sampled(List<GpuStatus> gpus) {
    pulse.beat();
    lookForNodes();
    handOver(gpus);
  }

  private void handOver(List<GpuStatus> gpus) {
    if (latest.getAndSet(gpus) == null) {
      loop.runOnContext(v -> take());
    }
  }

  @Override
  public void gone(List<GpuStatus> gpus) {
    pulse.gone();
    handOver(gpus);
  }

  @Override
  public void unwatched(List<String> uuids) {
    loop.runOnContext(v -> plugin.unwatched(uuids));
  }

  @Override
  public void broken() {
    ended.complete(1);
  }

  private void take() {
    List<GpuStatus> gpus = latest.getAndSet(null);
    if (gpus != null) {
      plugin.sampled(gpus);
    }
  }

  /** Drains, leaves the kubelet, ends. Blocks, from the shutdown hook. */
  void stop() {
    CompletableFuture<Void> left = new CompletableFuture<>();
    loop.runOnContext(v -> plugin.stop().onComplete(done -> left.complete(null)));
    try {
      left.get(STOP_LIMIT_MS, TimeUnit.MILLISECONDS);
    } catch (Exception e) {
      LOG.warn("the plugin did not stop cleanly: {}", e.toString());
    }
    nvml.close();
    ended.complete(0);
  }
}
