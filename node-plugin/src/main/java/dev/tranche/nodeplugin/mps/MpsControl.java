package dev.tranche.nodeplugin.mps;

import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.ConfigSource;
import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.nodeplugin.config.KeptConfig;
import dev.tranche.nodeplugin.file.AtomicFile;
import dev.tranche.nodeplugin.gpu.SharingPlan;
import dev.tranche.nodeplugin.nvml.AdminNvml;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.NvmlException;
import dev.tranche.process.ops.Probe;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the control daemons of a node by the config that its plugin uses. The plugin receives the
 * node's label and keeps the config's name in a file on the host. This class reads that file, so
 * that it needs no permission and no connection. Blocks; its thread is the one that calls NVML.
 */
final class MpsControl {
  private static final Logger LOG = LoggerFactory.getLogger(MpsControl.class);
  private static final int STEP_MS = 1_000;
  private static final int DRIVER_RETRY_MS = 5_000;
  private static final int LOST_RETRY_MS = 30_000;

  private final ConfigSource source;
  private final AtomicFile configName;
  private final KeptConfig kept;
  private final boolean standAlone;
  private final Supplier<AdminNvml> open;
  private final StatusFile statusFile;
  private final MpsRoot root;
  private final String program;
  private final BiConsumer<String, String> count;
  private List<GpuInfo> gpus = List.of();
  private long gpusReadAtMs;
  private String configState = "";
  private String name = "";
  private String complaint = "";
  private @Nullable Outcome last;
  private @Nullable Config config;
  private String configError = "no config has been read yet";
  private volatile MpsStatus status = new MpsStatus.None();
  private final CountDownLatch stopping = new CountDownLatch(1);
  private final CountDownLatch ended = new CountDownLatch(1);

  /**
   * @param configName the file in which the plugin keeps the name of the node's config
   * @param standAlone no extender assigns shares of several replicas
   * @param program nvidia-cuda-mps-control
   * @param count takes the name of a metric and its help; called on the thread of {@link #run}
   */
  MpsControl(
      ConfigSource source,
      Path configName,
      boolean standAlone,
      Supplier<AdminNvml> open,
      MpsRoot root,
      String program,
      BiConsumer<String, String> count) {
    this.source = source;
    this.configName = new AtomicFile(configName);
    this.kept = new KeptConfig(configName.toAbsolutePath().resolveSibling(""));
    this.standAlone = standAlone;
    this.open = open;
    this.root = root;
    this.statusFile = new StatusFile(root);
    this.program = program;
    this.count = count;
  }

  /** Runs until {@link #stop}, and ends all daemons before it returns. */
  void run() throws InterruptedException {
    try {
      while (stopping.getCount() > 0) {
        runSession();
      }
      deleteStatus();
    } finally {
      ended.countDown();
    }
  }

  private void runSession() throws InterruptedException {
    try (AdminNvml nvml = open.get()) {
      LOG.info("NVML of driver {}", nvml.driverVersion());
      configState = "";
      last = null;
      runSession(nvml);
    } catch (NvmlException e) {
      report(new MpsStatus.Failing(e.getMessage()));
      Supervisor.countFailure(count);
      LOG.error("{}", e.getMessage());
      stopping.await(DRIVER_RETRY_MS, TimeUnit.MILLISECONDS);
    }
  }

  private void runSession(AdminNvml nvml) throws InterruptedException {
    readGpus(nvml);
    var supervisor = new Supervisor(program, root, nvml, MpsControl::nowMs, count);
    try {
      MpsPlan plan = MpsPlan.NONE;
      while (stopping.getCount() > 0) {
        boolean returned = lostGpuReturned(nvml, plan);
        if (configChanged() || returned) {
          plan = plan(plan);
        }
        MpsStatus now = supervisor.step(plan);
        report(configError.isEmpty() || plan.needed() ? now : new MpsStatus.Failing(configError));
        stopping.await(STEP_MS, TimeUnit.MILLISECONDS);
      }
    } finally {
      supervisor.stop();
    }
  }

  private void readGpus(AdminNvml nvml) {
    gpus = infos(nvml);
    gpusReadAtMs = nowMs();
  }

  /**
   * Returns whether a GPU has returned that was lost at first. A GPU that gets lost later changes
   * nothing here.
   */
  private boolean lostGpuReturned(AdminNvml nvml, MpsPlan plan) {
    int before = gpus.size();
    try {
      if (before < nvml.count() && nowMs() - gpusReadAtMs > LOST_RETRY_MS) {
        readGpus(nvml);
      }
      complaint = "";
    } catch (NvmlException e) {
      // Reopening NVML would end the daemons, and with them the work of their clients.
      if (!plan.needed() || !serving()) {
        throw e;
      }
      complain(e.getMessage());
    }
    return gpus.size() > before;
  }

  private void complain(String reason) {
    if (!complaint.equals(reason)) {
      complaint = reason;
      LOG.warn("{}; the running MPS control daemons continue", reason);
    }
  }

  private static long nowMs() {
    return System.nanoTime() / 1_000_000;
  }

  private static List<GpuInfo> infos(AdminNvml nvml) {
    List<GpuInfo> gpus = new ArrayList<>();
    int count = nvml.count();
    for (int index = 0; index < count; index++) {
      try {
        gpus.add(nvml.info(index));
      } catch (NvmlException e) {
        if (e.driverGone()) {
          throw e;
        }
        LOG.warn("leaving out GPU {}: {}", index, e.getMessage());
      }
    }
    return gpus;
  }

  private boolean configChanged() {
    String requestedName = name();
    String state = requestedName + " " + source.state();
    if (state.equals(configState)) {
      return false;
    }
    configState = state;
    Outcome now = source.load(requestedName);
    boolean changed = !now.equals(last);
    last = now;
    if (changed && now instanceof Outcome.Refused refused) {
      configError = "config %s is refused: %s".formatted(refused.name(), refused.reason());
      LOG.error("{}; the previous one stays in use", configError);
      return config == null && useKeptConfig();
    } else if (changed && now instanceof Outcome.Usable usable) {
      LOG.info("config {}: {}", usable.name(), usable.config().sharing());
      config = usable.config();
    }
    return changed && now instanceof Outcome.Usable;
  }

  /**
   * Uses the config that the plugin used last, as the plugin does. Returns false if there is none.
   */
  private boolean useKeptConfig() {
    config = kept.read(source).map(Outcome.Usable::config).orElse(null);
    return config != null;
  }

  // The plugin writes at least a newline, so an empty or unreadable file does not change the name.
  private String name() {
    try {
      name = configName.readText().filter(text -> !text.isEmpty()).map(String::strip).orElse(name);
    } catch (IOException e) {
      LOG.warn("cannot read the name of the node's config: {}", e.toString());
    }
    return name;
  }

  private MpsPlan plan(MpsPlan before) {
    if (config == null) {
      return before;
    }
    return switch (SharingPlan.of(config, gpus)) {
      case SharingPlan.Fits fits -> {
        configError = "";
        yield MpsPlan.of(fits.byUuid(), gpus, standAlone);
      }
      case SharingPlan.DoesNotFit misfit -> {
        configError = "the config is refused: " + misfit.reason();
        LOG.error("{}; the previous one stays in use", configError);
        yield before.needed() ? before : keptPlan().orElse(before);
      }
    };
  }

  /**
   * Returns the plan of the config that the plugin used last and still uses; empty if none fits.
   */
  private Optional<MpsPlan> keptPlan() {
    return kept.read(source)
        .map(usable -> SharingPlan.of(usable.config(), gpus))
        .filter(SharingPlan.Fits.class::isInstance)
        .map(SharingPlan.Fits.class::cast)
        .map(fits -> MpsPlan.of(fits.byUuid(), gpus, standAlone));
  }

  private void report(MpsStatus now) {
    status = now;
    try {
      Files.createDirectories(root.folder());
      statusFile.write(now);
    } catch (IOException e) {
      LOG.error("cannot write the daemons' status for the plugin: {}", e.toString());
    }
  }

  private void deleteStatus() {
    status = new MpsStatus.None();
    try {
      statusFile.delete();
    } catch (IOException e) {
      LOG.warn("keeping the last status: {}", e.toString());
    }
  }

  void stop() {
    stopping.countDown();
  }

  /**
   * Waits for {@link #run} to be over.
   *
   * @return whether it is
   */
  boolean awaitEnd(int limitMs) throws InterruptedException {
    return ended.await(limitMs, TimeUnit.MILLISECONDS);
  }

  /** May be called by any thread. */
  Probe readiness() {
    return switch (status) {
      case MpsStatus.Serving serving when serving.lines().isEmpty() ->
          new Probe(true, "the config shares nothing by MPS, so there is no daemon to run");
      case MpsStatus.Serving ignored -> Probe.ALIVE;
      case MpsStatus.Failing failing -> new Probe(false, failing.reason());
      case MpsStatus.None ignored ->
          new Probe(false, "the MPS control daemons have not started yet");
    };
  }

  boolean serving() {
    return status instanceof MpsStatus.Serving;
  }
}
