package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.health.Fault;
import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.health.HealthOptions;
import dev.tranche.nodeplugin.load.Load;
import dev.tranche.nodeplugin.nvml.GpuEvent;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.GpuReading;
import dev.tranche.nodeplugin.nvml.Mig;
import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import dev.tranche.nodeplugin.usage.ContainerUse;
import dev.tranche.nodeplugin.usage.UsageReader;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
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

  /** One sample may fail for reasons of its own. */
  static final int FAILED_SAMPLES_MAX = 3;

  /** Between two starts of NVML that take a session away from GPUs that work. */
  static final long REOPEN_MAX_MS = 600_000;

  private final HealthOptions options;
  private final UsageReader usage;
  private final LongSupplier clockMs;
  private final Map<String, GpuStatus> gpus = new LinkedHashMap<>();
  // By uuid: the GPUs of this session, at their indexes in it.
  private final Map<String, Integer> present = new LinkedHashMap<>();
  private final Map<String, Long> eccErrors = new LinkedHashMap<>();
  // By uuid: in a row.
  private final Map<String, Integer> failedSamples = new HashMap<>();
  // Of this session: GPUs that tell no errors.
  private final Set<String> unwatched = new TreeSet<>();
  private @Nullable Nvml nvml;
  // Of this session: GPUs that told their MIG devices.
  private final Set<String> partsTold = new HashSet<>();
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
    this.usage = usage;
    this.clockMs = clockMs;
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
      gpus.replaceAll((uuid, gpu) -> gone(gpu, "driver " + version + " has not read it yet"));
    }
    driver = version;
  }

  private void find(Nvml session) {
    present.clear();
    partsTold.clear();
    unwatched.clear();
    partsAtMs = clockMs.getAsLong();
    count = session.count();
    for (int index = 0; index < count; index++) {
      find(session, index);
    }
    gpus.values().removeIf(this::removed);
    eccErrors.keySet().retainAll(gpus.keySet());
    failedSamples.keySet().retainAll(present.keySet());
    gpus.replaceAll(
        (uuid, gpu) -> present.containsKey(uuid) ? gpu : gone(gpu, "NVML lists this GPU no more"));
    sort();
  }

  /** A MIG device that its GPU no longer names does not get lost: somebody has removed it. */
  private boolean removed(GpuStatus gpu) {
    return !present.containsKey(gpu.info().uuid())
        && gpu.info().part().filter(part -> partsTold.contains(part.parentUuid())).isPresent();
  }

  /** Puts new MIG devices behind their GPU, where a restart would find them. */
  private void sort() {
    List<GpuStatus> parts = gpus.values().stream().filter(gpu -> isPart(gpu)).toList();
    if (parts.isEmpty()) {
      return;
    }
    Map<String, GpuStatus> sorted = new LinkedHashMap<>();
    for (GpuStatus gpu : gpus.values()) {
      if (!isPart(gpu)) {
        sorted.put(gpu.info().uuid(), gpu);
        parts.stream()
            .filter(part -> isPartOf(gpu.info().uuid(), part.info()))
            .sorted(Comparator.comparingInt(GpuWatch::place))
            .forEach(part -> sorted.put(part.info().uuid(), part));
      }
    }
    gpus.clear();
    gpus.putAll(sorted);
  }

  private static boolean isPart(GpuStatus gpu) {
    return gpu.info().part().isPresent();
  }

  private static boolean isPartOf(String uuid, GpuInfo gpu) {
    return gpu.part().filter(part -> part.parentUuid().equals(uuid)).isPresent();
  }

  private static int place(GpuStatus gpu) {
    return gpu.info().part().map(Mig.Part::index).orElse(0);
  }

  private void found(GpuInfo info, int index) {
    GpuStatus known = gpus.get(info.uuid());
    Health health = known == null ? Health.good() : known.health();
    gpus.put(info.uuid(), new GpuStatus(info, health, known == null ? null : known.load()));
    present.put(info.uuid(), index);
  }

  private void find(Nvml session, int index) {
    try {
      GpuInfo info = session.info(index);
      found(info, index);
      watch(session, info);
      session.migDevices(info).forEach(part -> found(part, index));
      partsTold.add(info.uuid());
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
    return List.copyOf(gpus.values());
  }

  /** How near the GPUs are to each other; MIG devices have no links. */
  public Closeness closeness() {
    return Closeness.measure(session(), presentWhole().map(GpuStatus::info).toList());
  }

  private Stream<GpuStatus> presentWhole() {
    return gpus.values().stream()
        .filter(gpu -> present.containsKey(gpu.info().uuid()) && !isPart(gpu));
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
    if (presentWhole().noneMatch(gpu -> gpu.health().healthy())) {
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
    return gpus.isEmpty()
        || presentWhole().count() < count
        || gpus.values().stream().anyMatch(gpu -> gpu.health() instanceof Health.Lost);
  }

  /**
   * There is no NVML at the moment: nothing can be read, so no GPU takes new pods. A fault outlives
   * that, since it says nothing of the GPU.
   */
  public void closed(String reason) {
    nvml = null;
    present.clear();
    gpus.replaceAll((uuid, gpu) -> new GpuStatus(gpu.info(), gpu.health().silent(reason), null));
  }

  private static GpuStatus gone(GpuStatus gpu, String reason) {
    return new GpuStatus(gpu.info(), gpu.health().gone(reason), null);
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
    for (var entry : List.copyOf(present.entrySet())) {
      GpuStatus known = gpus.get(entry.getKey());
      if (known != null) {
        gpus.put(entry.getKey(), sampled(session, known, entry.getValue()));
      }
    }
    usage.sampled();
  }

  /** Whether MIG devices have come or gone; asked now and then, since nothing tells. */
  private boolean cutAnew(Nvml session) {
    if (clockMs.getAsLong() - partsAtMs < options.reopenMs()) {
      return false;
    }
    partsAtMs = clockMs.getAsLong();
    return presentWhole().anyMatch(gpu -> cutAnew(session, gpu.info()));
  }

  private boolean cutAnew(Nvml session, GpuInfo known) {
    try {
      GpuInfo now = session.info(present.getOrDefault(known.uuid(), known.index()));
      return !now.mig().equals(known.mig()) || !parts(session.migDevices(now)).equals(parts(known));
    } catch (NvmlException e) {
      if (e.driverGone()) {
        throw e;
      }
      return false;
    }
  }

  private Map<String, Mig> parts(GpuInfo gpu) {
    return parts(
        gpus.values().stream()
            .map(GpuStatus::info)
            .filter(other -> isPartOf(gpu.uuid(), other))
            .toList());
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

  private GpuStatus sampled(Nvml session, GpuStatus gpu, int index) {
    long nowMs = clockMs.getAsLong();
    try {
      GpuReading reading = read(session, gpu.info(), index);
      failedSamples.remove(gpu.info().uuid());
      Load load = Load.next(gpu.load(), reading, nowMs);
      Health health = gpu.health().answered(nowMs, options.quietMs());
      return new GpuStatus(
          gpu.info(),
          moreErrors(gpu, reading) ? health.fault(memoryFault(reading), nowMs) : health,
          load,
          uses(session, gpu.info(), index, reading));
    } catch (NvmlException e) {
      return unread(session, gpu, index, e);
    }
  }

  private static GpuReading read(Nvml session, GpuInfo gpu, int index) {
    return gpu.part()
        .map(part -> session.readMig(index, part.index()))
        .orElseGet(() -> session.read(index));
  }

  // Of a GPU that is cut its MIG devices tell: the GPU's own list would name everybody once more.
  private List<ContainerUse> uses(Nvml session, GpuInfo gpu, int index, GpuReading reading) {
    return switch (gpu.mig()) {
      case Mig.Off ignored -> usage.of(session.processes(index), reading);
      case Mig.Cut ignored -> List.of();
      case Mig.Part part -> usage.of(session.migProcesses(index, part.index()), reading);
    };
  }

  private GpuStatus unread(Nvml session, GpuStatus gpu, int index, NvmlException e) {
    if (e.driverGone()) {
      throw e;
    }
    String why = String.valueOf(e.getMessage());
    if (e.lost()) {
      return gone(gpu, why);
    }
    if (e.unsupported()) {
      return new GpuStatus(gpu.info(), gpu.health(), null);
    }
    int failed = failedSamples.merge(gpu.info().uuid(), 1, Integer::sum);
    if (failed < FAILED_SAMPLES_MAX) {
      // What was read last says its age itself.
      return gpu;
    }
    boolean answers = answers(session, gpu.info(), index);
    if (failed == FAILED_SAMPLES_MAX && answers) {
      LOG.warn("cannot read the load of {}: {}", gpu.info().uuid(), why);
    }
    Health health = answers ? gpu.health() : gpu.health().silent(why);
    return new GpuStatus(gpu.info(), health, null);
  }

  /** Whether it still says who it is. */
  private static boolean answers(Nvml session, GpuInfo gpu, int index) {
    try {
      GpuInfo now = session.info(index);
      return gpu.part().isEmpty()
          ? now.uuid().equals(gpu.uuid())
          : session.migDevices(now).stream().anyMatch(part -> part.uuid().equals(gpu.uuid()));
    } catch (NvmlException e) {
      if (e.driverGone()) {
        throw e;
      }
      return false;
    }
  }

  private boolean moreErrors(GpuStatus gpu, GpuReading reading) {
    if (reading.eccUncorrected() == GpuReading.UNKNOWN) {
      return false;
    }
    Long before = eccErrors.put(gpu.info().uuid(), reading.eccUncorrected());
    return before != null
        && reading.eccUncorrected() > before
        && options.xids().unhealthy(GpuEvent.DOUBLE_BIT_ECC);
  }

  private static Fault memoryFault(GpuReading reading) {
    return Fault.ofMemory(reading.eccUncorrected());
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
      return event.isPresent() && apply(event.get());
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

  private boolean hits(GpuEvent event, String uuid, int index) {
    return Optional.ofNullable(gpus.get(uuid))
        .flatMap(gpu -> gpu.info().part())
        .map(part -> event.hits(index, part.gpuInstance(), part.computeInstance()))
        .orElseGet(() -> event.hits(index, GpuEvent.ANY, GpuEvent.ANY));
  }

  private boolean apply(GpuEvent event) {
    if (!options.xids().unhealthy(event.code())) {
      LOG.info("GPU {} reported XID {}, which is ignored", event.index(), event.code());
      return false;
    }
    if (event.index() == GpuEvent.ANY) {
      return applyToWhoeverIsGone(event);
    }
    return apply(event, Fault.ofXid(event.code()));
  }

  /**
   * NVML does not say whose it is, as of a GPU that gives no handle any more: it is one that does
   * not answer. Where all do it concerns all, but none of them needs a reset.
   */
  private boolean applyToWhoeverIsGone(GpuEvent event) {
    List<Integer> silent =
        presentWhole()
            .filter(gpu -> !answers(session(), gpu.info(), index(gpu)))
            .map(this::index)
            .toList();
    boolean known = gpus.values().stream().anyMatch(gpu -> gpu.health() instanceof Health.Lost);
    if (silent.isEmpty() && known) {
      LOG.info("XID {} of a GPU that is already gone", event.code());
      return false;
    }
    if (silent.isEmpty()) {
      return apply(event, new Fault(Fault.ofXid(event.code()).sentence(), false));
    }
    boolean changed = false;
    for (int index : silent) {
      changed |=
          apply(
              new GpuEvent(index, event.code(), event.gpuInstance(), event.computeInstance()),
              Fault.ofXid(event.code()));
    }
    return changed;
  }

  private int index(GpuStatus gpu) {
    return present.getOrDefault(gpu.info().uuid(), gpu.info().index());
  }

  private boolean apply(GpuEvent event, Fault fault) {
    long nowMs = clockMs.getAsLong();
    List<String> hit = new ArrayList<>();
    present.forEach(
        (uuid, index) -> {
          if (hits(event, uuid, index)) {
            hit.add(uuid);
          }
        });
    hit.forEach(
        uuid ->
            gpus.computeIfPresent(
                uuid,
                (u, gpu) ->
                    new GpuStatus(
                        gpu.info(), gpu.health().fault(fault, nowMs), gpu.load(), gpu.uses())));
    return !hit.isEmpty();
  }
}
