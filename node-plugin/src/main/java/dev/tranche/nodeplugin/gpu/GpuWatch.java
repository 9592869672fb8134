package dev.tranche.nodeplugin.gpu;

import static java.util.stream.Collectors.toSet;

import dev.tranche.nodeplugin.gpu.NodeProblem.Reason;
import dev.tranche.nodeplugin.gpu.NvmlThread.WatchState;
import dev.tranche.nodeplugin.health.HealthOptions;
import dev.tranche.nodeplugin.nvml.GpuEvent;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import dev.tranche.nodeplugin.usage.UsageReader;
import dev.tranche.process.meters.Failures;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Samples the GPUs of this node, and waits for errors between samples. What it knows of a GPU
 * outlives a session of NVML, since a driver may be reloaded and a lost GPU may return at another
 * index. Confined to the one thread that calls NVML.
 */
public final class GpuWatch {
  /** The longest time between restarts of NVML that interrupt the session of working GPUs. */
  static final long REOPEN_MAX_MS = 600_000;

  private final HealthOptions options;
  private final LongSupplier clockMs;
  private final KnownGpus gpus = new KnownGpus();
  private final GpuSampler sampler;
  private final GpuErrors errors;
  private final ErrorWatch errorWatch;
  private final UsageReader usage;
  private final GpuFailures failures;
  // By index: why a GPU, or a MIG device of it, did not tell its identity at the last listing.
  private final Map<Integer, String> unidentified = new TreeMap<>();
  private @Nullable Nvml nvml;
  private String driver = "";
  private int count;
  private long openedAtMs;
  private long reopenWaitMs;
  private long migCheckedAtMs;

  /**
   * @param usage finds the containers of a GPU's processes
   * @param clockMs any monotonic clock
   * @param failures counts bugs that one GPU causes
   */
  public GpuWatch(
      HealthOptions options, UsageReader usage, LongSupplier clockMs, Failures failures) {
    this.options = options;
    this.clockMs = clockMs;
    this.usage = usage;
    this.failures = new GpuFailures(failures);
    this.errorWatch = new ErrorWatch(gpus, this.failures);
    this.sampler = new GpuSampler(options, usage, clockMs, this.failures);
    this.errors = new GpuErrors(options, clockMs, gpus);
  }

  /**
   * Continues with this session of NVML. Leaves out a GPU that does not answer with its identity.
   *
   * @throws NvmlException if NVML itself is gone
   */
  public void open(Nvml session) {
    nvml = session;
    openedAtMs = clockMs.getAsLong();
    reopenWaitMs = Math.max(reopenWaitMs, options.reopenMs());
    String version = session.driverVersion();
    // A new driver has initialized the GPUs, so earlier faults are over.
    if (!driver.isEmpty() && !driver.equals(version)) {
      gpus.replaceAll(gpu -> gpu.asLost("driver " + version + " has not read it yet"));
    }
    driver = version;
    find(session);
  }

  private void find(Nvml session) {
    gpus.startListing();
    errorWatch.startListing();
    unidentified.clear();
    migCheckedAtMs = clockMs.getAsLong();
    count = session.count();
    for (int index = 0; index < count; index++) {
      find(session, index);
    }
    gpus.finishListing();
    sampler.retain(gpus.uuids(), gpus.presentIndexes().keySet());
  }

  private void find(Nvml session, int index) {
    try {
      GpuInfo info = session.info(index);
      gpus.add(info);
      errorWatch.add(session, info);
      Set<String> leftOut = new LinkedHashSet<>();
      session.migDevices(info, leftOut::add).forEach(gpus::add);
      gpus.migDevicesListed(info);
      if (!leftOut.isEmpty()) {
        unidentified.put(index, "GPU " + index + ": " + String.join("; ", leftOut));
      }
    } catch (RuntimeException e) {
      // Whatever is wrong with this GPU, the others are usable, and it is looked for again. Its
      // uuid cannot be read; whether it was known follows from which GPUs are missing.
      unidentified.put(index, "GPU " + index + ": " + failures.reason(String.valueOf(index), e));
    }
  }

  /** Returns what is wrong beside the health of single GPUs. */
  public WatchState state() {
    List<NodeProblem> problems =
        Stream.of(
                unidentifiedGpus(),
                errorWatch.problem(),
                sampler.problem(),
                usage.problem().map(why -> new NodeProblem(Reason.POD_NAMES_UNREADABLE, 1, why)))
            .flatMap(Optional::stream)
            .toList();
    return new WatchState(errorWatch.unwatched(), errorWatch.unsupported(), problems);
  }

  // Those that are known and lost are unhealthy GPUs, and shown as such.
  private Optional<NodeProblem> unidentifiedGpus() {
    long withoutMigDevices =
        gpus.presentGpus().filter(gpu -> unidentified.containsKey(gpu.info().index())).count();
    int missing = Math.max(0, count - gpus.gpuCount()) + (int) withoutMigDevices;
    return NodeProblem.of(
        Reason.GPU_NOT_IDENTIFIED,
        nvml == null ? 0 : missing,
        () ->
            "NVML counts %d GPUs, of which %d have never returned their uuid, or have MIG devices without one or without a profile, and these are not advertised: %s"
                .formatted(count, missing, String.join("; ", unidentified.values())));
  }

  public List<GpuStatus> gpus() {
    return gpus.all();
  }

  /** Measures the links between the GPUs; MIG devices have none. */
  public GpuLinkScores measureLinks() {
    return GpuLinkScores.measure(session(), gpus.presentGpus().map(GpuStatus::info).toList());
  }

  /** Returns the indexes of the GPUs that are present, by uuid. */
  Map<String, Integer> presentIndexes() {
    return gpus.presentIndexes();
  }

  /**
   * Returns whether to restart NVML, since only then it may show a returned GPU, or the errors of
   * all. While any GPU works, restarts become ever rarer.
   */
  public boolean restartNeeded() {
    if (!missing() && !errorWatch.restartNeeded()) {
      reopenWaitMs = options.reopenMs();
      return false;
    }
    boolean anyWorks = gpus.presentGpus().anyMatch(gpu -> gpu.health().healthy());
    long waitMs = anyWorks ? reopenWaitMs : options.reopenMs();
    if (clockMs.getAsLong() - openedAtMs < waitMs) {
      return false;
    }
    reopenWaitMs = Math.min(REOPEN_MAX_MS, reopenWaitMs * 2);
    return true;
  }

  private boolean missing() {
    return gpus.isEmpty() || gpus.presentGpus().count() < count || gpus.anyLost();
  }

  /**
   * Called when NVML is closed: nothing can be read, so no GPU takes new pods. A fault stays, since
   * the loss of NVML says nothing about the GPU.
   */
  public void closed(String reason) {
    nvml = null;
    gpus.startListing();
    gpus.replaceAll(gpu -> new GpuStatus(gpu.info(), gpu.health().afterFailedProbe(reason), null));
  }

  /**
   * Reads every GPU once.
   *
   * @throws NvmlException if NVML itself is gone
   */
  public void sample() {
    Nvml session = session();
    if (session.count() != count || migDevicesChanged(session)) {
      find(session);
    }
    gpus.replaceAll(gpu -> gpus.isPresent(gpu) ? sampler.sample(session, gpu) : gpu);
    errorWatch.retry(session);
    usage.sampled();
  }

  /**
   * Returns whether MIG devices were added or removed. Checked from time to time, since no event
   * reports it.
   */
  private boolean migDevicesChanged(Nvml session) {
    if (clockMs.getAsLong() - migCheckedAtMs < options.reopenMs()) {
      return false;
    }
    migCheckedAtMs = clockMs.getAsLong();
    return gpus.presentGpus().anyMatch(gpu -> migDevicesChanged(session, gpu.info()));
  }

  private boolean migDevicesChanged(Nvml session, GpuInfo known) {
    try {
      GpuInfo now = session.info(known.index());
      Set<String> leftOut = new HashSet<>();
      List<GpuInfo> devices = session.migDevices(now, leftOut::add);
      return !now.mig().equals(known.mig())
          || !identities(devices).equals(identities(gpus.migDevicesOf(known)))
          || leftOut.isEmpty() == unidentified.containsKey(known.index());
    } catch (RuntimeException e) {
      failures.reason(known.uuid(), e);
      return false;
    }
  }

  // Compares their MIG state too: a MIG device that is created again in the same place keeps its
  // uuid.
  private static Set<List<Object>> identities(List<GpuInfo> devices) {
    return devices.stream().map(gpu -> List.of(gpu.uuid(), gpu.mig())).collect(toSet());
  }

  private Nvml session() {
    if (nvml == null) {
      throw new IllegalStateException("NVML is not open");
    }
    return nvml;
  }

  /**
   * Waits for an error until the time is over.
   *
   * @return whether a GPU's health may have changed by it
   * @throws NvmlException if NVML itself is gone
   */
  public boolean awaitError(int timeoutMs) throws InterruptedException {
    if (!errorWatch.anyWatched()) {
      Thread.sleep(timeoutMs);
      return false;
    }
    try {
      Optional<GpuEvent> event = session().awaitEvent(timeoutMs);
      errorWatch.worked();
      return event.isPresent() && errors.apply(event.get(), session());
    } catch (RuntimeException e) {
      boolean first = errorWatch.failed(session(), failures.reason("of an error", e));
      // At once, since a lost GPU ends a wait. Later failures must not become a busy loop.
      if (first) {
        sample();
      } else {
        Thread.sleep(timeoutMs);
      }
      return first;
    }
  }
}
