package dev.tranche.nodeplugin.mps;

import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.ConfigSource;
import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.nodeplugin.config.KeptConfig;
import dev.tranche.nodeplugin.file.AtomicFile;
import dev.tranche.nodeplugin.gpu.SharingPlan;
import dev.tranche.nodeplugin.health.Readiness;
import dev.tranche.nodeplugin.nvml.AdminNvml;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.NvmlException;
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
 * The control daemons of a node follow the config that its plugin uses. The plugin hears the node's
 * label and keeps the config's name in a file on the host, which is read here, so that this part
 * needs no right and no connection. Blocks; its thread is the one of NVML.
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
  private long lookedMs;
  private String seen = "";
  private String name = "";
  private String complaint = "";
  private @Nullable Outcome last;
  private @Nullable Config config;
  private String trouble = "no config has been read yet";
  private volatile MpsStatus status = new MpsStatus.Silent();
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
        follow();
      }
      silence();
    } finally {
      ended.countDown();
    }
  }

  private void follow() throws InterruptedException {
    try (AdminNvml nvml = open.get()) {
      LOG.info("NVML of driver {}", nvml.driverVersion());
      seen = "";
      last = null;
      follow(nvml);
    } catch (NvmlException e) {
      tell(new MpsStatus.Failing(e.getMessage()));
      Supervisor.countFailure(count);
      LOG.error("{}", e.getMessage());
      stopping.await(DRIVER_RETRY_MS, TimeUnit.MILLISECONDS);
    }
  }

  private void follow(AdminNvml nvml) throws InterruptedException {
    look(nvml);
    var supervisor = new Supervisor(program, root, nvml, MpsControl::nowMs, count);
    try {
      MpsPlan plan = MpsPlan.NONE;
      while (stopping.getCount() > 0) {
        boolean returned = lostReturned(nvml, plan);
        if (configChanged() || returned) {
          plan = plan(plan);
        }
        MpsStatus now = supervisor.step(plan);
        tell(trouble.isEmpty() || plan.needed() ? now : new MpsStatus.Failing(trouble));
        stopping.await(STEP_MS, TimeUnit.MILLISECONDS);
      }
    } finally {
      supervisor.stop();
    }
  }

  private void look(AdminNvml nvml) {
    gpus = infos(nvml);
    lookedMs = nowMs();
  }

  /** Whether a GPU that was lost at first is there; one that gets lost changes nothing here. */
  private boolean lostReturned(AdminNvml nvml, MpsPlan plan) {
    int before = gpus.size();
    try {
      if (before < nvml.count() && nowMs() - lookedMs > LOST_RETRY_MS) {
        look(nvml);
      }
      complaint = "";
    } catch (NvmlException e) {
      // To open NVML anew would end the daemons, and with them the work of their clients.
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
      LOG.warn("{}; the MPS control daemons that serve go on", reason);
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
    String asked = name();
    String state = asked + " " + source.state();
    if (state.equals(seen)) {
      return false;
    }
    seen = state;
    Outcome now = source.load(asked);
    boolean changed = !now.equals(last);
    last = now;
    if (changed && now instanceof Outcome.Refused refused) {
      trouble = "config %s is refused: %s".formatted(refused.name(), refused.reason());
      LOG.error("{}; the one before stays in use", trouble);
      return config == null && before();
    } else if (changed && now instanceof Outcome.Usable usable) {
      LOG.info("config {}: {}", usable.name(), usable.config().sharing());
      config = usable.config();
    }
    return changed && now instanceof Outcome.Usable;
  }

  /** Goes on with the config that the plugin used last, as the plugin does; false: none. */
  private boolean before() {
    config = kept.read(source).map(Outcome.Usable::config).orElse(null);
    return config != null;
  }

  // The plugin writes at least a line's end. What cannot be read, or is empty, says nothing.
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
        trouble = "";
        yield MpsPlan.of(fits.byUuid(), gpus, standAlone);
      }
      case SharingPlan.DoesNotFit misfit -> {
        trouble = "the config is refused: " + misfit.reason();
        LOG.error("{}; the one before stays in use", trouble);
        yield before.needed() ? before : keptPlan().orElse(before);
      }
    };
  }

  /** Of the config that the plugin used last and goes on with; empty: none that fits. */
  private Optional<MpsPlan> keptPlan() {
    return kept.read(source)
        .map(usable -> SharingPlan.of(usable.config(), gpus))
        .filter(SharingPlan.Fits.class::isInstance)
        .map(SharingPlan.Fits.class::cast)
        .map(fits -> MpsPlan.of(fits.byUuid(), gpus, standAlone));
  }

  private void tell(MpsStatus now) {
    status = now;
    try {
      Files.createDirectories(root.folder());
      statusFile.write(now);
    } catch (IOException e) {
      LOG.error("cannot write the daemons' status for the plugin: {}", e.toString());
    }
  }

  private void silence() {
    status = new MpsStatus.Silent();
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
  boolean ended(int limitMs) throws InterruptedException {
    return ended.await(limitMs, TimeUnit.MILLISECONDS);
  }

  /** Any thread's. */
  Readiness readiness() {
    return switch (status) {
      case MpsStatus.Serving serving when serving.lines().isEmpty() ->
          Readiness.idle("the config shares nothing by MPS, so there is no daemon to run");
      case MpsStatus.Serving ignored -> Readiness.unless(List.of());
      case MpsStatus.Failing failing -> Readiness.unless(List.of(failing.reason()));
      case MpsStatus.Silent ignored ->
          Readiness.unless(List.of("the MPS control daemons have not started yet"));
    };
  }

  boolean serving() {
    return status instanceof MpsStatus.Serving;
  }
}
