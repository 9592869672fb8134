package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.health.XidPolicy;
import dev.tranche.nodeplugin.load.Load;
import dev.tranche.nodeplugin.nvml.GpuEvent;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.GpuReading;
import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The GPUs of this node as NVML tells them, sampled at a pace; between samples it waits for errors.
 * Confined to the one thread that talks to NVML.
 */
public final class GpuWatch {
  private static final Logger LOG = LoggerFactory.getLogger(GpuWatch.class);

  private final Nvml nvml;
  private final XidPolicy xids;
  private final LongSupplier clockMs;
  private final List<GpuStatus> gpus = new ArrayList<>();
  private boolean watched;
  private boolean complained;

  /**
   * Finds the GPUs.
   *
   * @param clockMs milliseconds since 1970
   * @throws NvmlException if one of them does not tell who it is
   */
  public GpuWatch(Nvml nvml, XidPolicy xids, LongSupplier clockMs) {
    this.nvml = nvml;
    this.xids = xids;
    this.clockMs = clockMs;
    int count = nvml.count();
    for (int index = 0; index < count; index++) {
      find(index);
    }
  }

  private void find(int index) {
    try {
      GpuInfo info = nvml.info(index);
      gpus.add(new GpuStatus(info, Health.good(), null));
      watch(info);
      nvml.migDevices(info).forEach(mig -> gpus.add(new GpuStatus(mig, Health.good(), null)));
    } catch (NvmlException e) {
      if (!e.lost()) {
        throw e;
      }
      // Its uuid is not to be had, so it cannot be advertised at all; the others can.
      LOG.warn("GPU {} is left out until the node plugin restarts: {}", index, e.getMessage());
    }
  }

  private void watch(GpuInfo gpu) {
    try {
      watched |= nvml.watch(gpu.index());
    } catch (NvmlException e) {
      LOG.warn("{} will not be watched for XIDs: {}", gpu.uuid(), e.getMessage());
    }
  }

  public List<GpuStatus> gpus() {
    return List.copyOf(gpus);
  }

  /** How near the GPUs are to each other; MIG devices have no links. */
  public Closeness closeness() {
    List<GpuInfo> whole =
        gpus.stream().map(GpuStatus::info).filter(gpu -> gpu.part().isEmpty()).toList();
    return Closeness.measure(nvml, whole);
  }

  /** Reads every GPU once. */
  public void sample() {
    gpus.replaceAll(this::sampled);
  }

  private GpuStatus sampled(GpuStatus gpu) {
    try {
      GpuReading reading = read(gpu.info());
      Load load = Load.next(gpu.load(), reading, clockMs.getAsLong());
      return changed(gpu, gpu.health().answered(), load);
    } catch (NvmlException e) {
      Health health = e.unsupported() ? gpu.health() : gpu.health().gone(e.getMessage());
      return changed(gpu, health, null);
    }
  }

  private GpuReading read(GpuInfo gpu) {
    return gpu.part()
        .map(part -> nvml.readMig(gpu.index(), part.index()))
        .orElseGet(() -> nvml.read(gpu.index()));
  }

  private static GpuStatus changed(GpuStatus gpu, Health health, @Nullable Load load) {
    if (!health.equals(gpu.health())) {
      LOG.warn(
          "GPU {} ({}) is {}",
          gpu.info().index(),
          gpu.info().uuid(),
          health.healthy() ? "healthy again" : "unhealthy: " + health.reason());
    }
    return new GpuStatus(gpu.info(), health, load);
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
      Optional<GpuEvent> event = nvml.awaitEvent(timeoutMs);
      complained = false;
      return event.isPresent() && apply(event.get());
    } catch (NvmlException e) {
      // Lost GPUs are still seen by sampling; a wait that fails must not become a busy loop.
      if (!complained) {
        LOG.warn("GPU errors cannot be waited for: {}", e.getMessage());
        complained = true;
      }
      Thread.sleep(timeoutMs);
      return false;
    }
  }

  private boolean apply(GpuEvent event) {
    if (!xids.unhealthy(event.xid())) {
      LOG.info("GPU {} reported XID {}, which is ignored", event.index(), event.xid());
      return false;
    }
    gpus.replaceAll(
        gpu ->
            event.index() < 0 || gpu.info().index() == event.index()
                ? changed(gpu, gpu.health().xid(event.xid()), gpu.load())
                : gpu);
    return true;
  }
}
