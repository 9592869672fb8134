package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.health.HealthOptions;
import dev.tranche.nodeplugin.nvml.GpuEvent;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import dev.tranche.nodeplugin.usage.UsageReader;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The GPUs of this node as NVML tells them, sampled at a pace; between samples it waits for errors.
 * What it knows of a GPU outlives a session of NVML, since a driver may be reloaded and a lost GPU
 * may return, at another index. Confined to the one thread that talks to NVML.
 */
public final class GpuWatch {
  private static final Logger LOG = LoggerFactory.getLogger(GpuWatch.class);

  /** Between two starts of NVML that take a session away from GPUs that work. */
  static final long REOPEN_MAX_MS = 600_000;

  private final HealthOptions options;
  private final LongSupplier clockMs;
  private final KnownGpus gpus = new KnownGpus();
  private final GpuSampler sampler;
  private final GpuErrors errors;
  // Of this session: GPUs that tell no errors.
  private final Set<String> unwatched = new TreeSet<>();
  private @Nullable Nvml nvml;
  private String driver = "";
  private int count;
  private long lookedAtMs;
  private long reopenedAtMs;
  private long reopenWaitMs;
  private long partsAtMs;
  private boolean watched;
  private boolean complained;
  private String unnamed = "";
  private String obstacle = "";

  /**
   * @param usage tells the containers behind a GPU's processes
   * @param clockMs any clock that only goes forward
   */
  public GpuWatch(HealthOptions options, UsageReader usage, LongSupplier clockMs) {
    this.options = options;
    this.clockMs = clockMs;
    this.sampler = new GpuSampler(options, usage, clockMs);
    this.errors = new GpuErrors(options, clockMs, gpus);
  }

  /**
   * Goes on with this session of NVML. A GPU that does not tell who it is is left out.
   *
   * @throws NvmlException if NVML itself is gone
   */
  public void open(Nvml session) {
    nvml = session;
    lookedAtMs = clockMs.getAsLong();
    reopenedAtMs = lookedAtMs;
    reopenWaitMs = Math.max(reopenWaitMs, options.reopenMs());
    watched = false;
    drivenBy(session.driverVersion());
    find(session);
  }

  /** Another driver has initialized the GPUs, so that no fault of before is left. */
  private void drivenBy(String version) {
    if (!driver.isEmpty() && !driver.equals(version)) {
      gpus.replaceAll(gpu -> gpu.gone("driver " + version + " has not read it yet"));
    }
    driver = version;
  }

  private void find(Nvml session) {
    gpus.clearPresent();
    unwatched.clear();
    partsAtMs = clockMs.getAsLong();
    count = session.count();
    for (int index = 0; index < count; index++) {
      find(session, index);
    }
    gpus.listed();
    sampler.retain(gpus.uuids(), gpus.present().keySet());
  }

  private void find(Nvml session, int index) {
    try {
      GpuInfo info = session.info(index);
      gpus.found(info, index);
      watch(session, info);
      session.migDevices(info).forEach(part -> gpus.found(part, index));
      gpus.partsTold(info);
    } catch (NvmlException e) {
      if (e.driverGone()) {
        throw e;
      }
      // Whatever ails this one, the others are of use; what is missing is looked for again.
      // Its uuid is not to be had; whether it is a known one is seen from who is missing.
      complain(index, e);
    }
  }

  private void complain(int index, NvmlException e) {
    String sentence = "GPU " + index + " is left out until it answers: " + e.getMessage();
    if (!sentence.equals(unnamed)) {
      unnamed = sentence;
      LOG.warn("{}", sentence);
    }
  }

  private void watch(Nvml session, GpuInfo gpu) {
    try {
      boolean tells = session.watch(gpu.index());
      watched |= tells;
      if (!tells) {
        unwatched.add(gpu.uuid());
      }
    } catch (NvmlException e) {
      unwatched.add(gpu.uuid());
      LOG.warn("{} will not be watched for errors: {}", gpu.uuid(), e.getMessage());
    }
  }

  /** GPUs of this session whose errors NVML does not tell, by the alphabet. */
  public List<String> unwatched() {
    return List.copyOf(unwatched);
  }

  public List<GpuStatus> gpus() {
    return gpus.all();
  }

  /** How near the GPUs are to each other; MIG devices have no links. */
  public GpuLinkScores closeness() {
    return GpuLinkScores.measure(session(), gpus.presentWhole().map(GpuStatus::info).toList());
  }

  /**
   * Whether NVML had better be started anew: it may show a GPU that has returned only then. While a
   * GPU works its session is closed for another one ever more seldom, and not at all where NVML is
   * known not to start again.
   *
   * @throws NvmlException if NVML itself is gone
   */
  public boolean reopenDue() {
    if (!missing()) {
      reopenWaitMs = options.reopenMs();
      return false;
    }
    long nowMs = clockMs.getAsLong();
    if (nowMs - lookedAtMs < options.reopenMs()) {
      return false;
    }
    lookedAtMs = nowMs;
    if (gpus.presentWhole().noneMatch(gpu -> gpu.health().healthy())) {
      return true;
    }
    find(session());
    sample();
    return missing() && reopenMayHelp(nowMs);
  }

  private boolean reopenMayHelp(long nowMs) {
    if (nowMs - reopenedAtMs < reopenWaitMs) {
      return false;
    }
    reopenedAtMs = nowMs;
    reopenWaitMs = Math.min(REOPEN_MAX_MS, reopenWaitMs * 2);
    String found = session().restartObstacle().orElse("");
    if (!found.isEmpty() && !found.equals(obstacle)) {
      LOG.warn("not restarting NVML for the missing GPU: {}", found);
    }
    obstacle = found;
    return found.isEmpty();
  }

  private boolean missing() {
    return gpus.isEmpty() || gpus.presentWhole().count() < count || gpus.anyLost();
  }

  /**
   * There is no NVML at the moment: nothing can be read, so no GPU takes new pods. A fault outlives
   * that, since it says nothing of the GPU.
   */
  public void closed(String reason) {
    nvml = null;
    gpus.clearPresent();
    gpus.replaceAll(gpu -> new GpuStatus(gpu.info(), gpu.health().silent(reason), null));
  }

  /**
   * Reads every GPU once.
   *
   * @throws NvmlException if NVML itself is gone
   */
  public void sample() {
    Nvml session = session();
    if (session.count() != count || cutAnew(session)) {
      find(session);
    }
    gpus.present()
        .forEach(
            (uuid, index) -> {
              GpuStatus known = gpus.get(uuid);
              if (known != null) {
                gpus.put(sampler.sample(session, known, index));
              }
            });
    sampler.sampled();
  }

  /** Whether MIG devices have come or gone; asked now and then, since nothing tells. */
  private boolean cutAnew(Nvml session) {
    if (clockMs.getAsLong() - partsAtMs < options.reopenMs()) {
      return false;
    }
    partsAtMs = clockMs.getAsLong();
    return gpus.presentWhole().anyMatch(gpu -> cutAnew(session, gpu.info()));
  }

  private boolean cutAnew(Nvml session, GpuInfo known) {
    try {
      GpuInfo now = session.info(gpus.index(known));
      return !now.mig().equals(known.mig())
          || !parts(session.migDevices(now)).equals(parts(gpus.partsOf(known)));
    } catch (NvmlException e) {
      if (e.driverGone()) {
        throw e;
      }
      return false;
    }
  }

  // With what they are: one that is cut anew in the same place keeps its uuid.
  private static Map<String, Mig> parts(List<GpuInfo> parts) {
    return parts.stream().collect(Collectors.toMap(GpuInfo::uuid, GpuInfo::mig));
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
   * @return whether a GPU's health changed by it
   */
  public boolean awaitError(int timeoutMs) throws InterruptedException {
    if (!watched) {
      Thread.sleep(timeoutMs);
      return false;
    }
    try {
      Optional<GpuEvent> event = session().awaitEvent(timeoutMs);
      complained = false;
      return event.isPresent() && errors.apply(event.get(), session());
    } catch (NvmlException e) {
      // Lost GPUs are still seen by sampling; a wait that fails must not become a busy loop.
      if (!complained) {
        LOG.warn("cannot wait for GPU errors: {}", e.getMessage());
        complained = true;
      }
      Thread.sleep(timeoutMs);
      return false;
    }
  }
}
