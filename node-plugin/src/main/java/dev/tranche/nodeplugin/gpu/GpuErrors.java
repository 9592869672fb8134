package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.health.Fault;
import dev.tranche.nodeplugin.health.HealthOptions;
import dev.tranche.nodeplugin.nvml.GpuEvent;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Nvml;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Marks the GPUs that an error of NVML concerns. Confined to the thread that talks to NVML. */
final class GpuErrors {
  private static final Logger LOG = LoggerFactory.getLogger(GpuErrors.class);

  private final HealthOptions options;
  private final LongSupplier clockMs;
  private final KnownGpus gpus;

  GpuErrors(HealthOptions options, LongSupplier clockMs, KnownGpus gpus) {
    this.options = options;
    this.clockMs = clockMs;
    this.gpus = gpus;
  }

  /** Whether a GPU's health changed by it. */
  boolean apply(GpuEvent event, Nvml session) {
    if (!options.xids().unhealthy(event.code())) {
      LOG.info("GPU {} reported XID {}, which is ignored", event.index(), event.code());
      return false;
    }
    return event.index() == GpuEvent.ANY
        ? applyToWhoeverIsGone(event, session)
        : apply(event, Fault.ofXid(event.code()));
  }

  /**
   * NVML does not say whose it is, as of a GPU that gives no handle any more: it is one that does
   * not answer. Where all do it concerns all, but none of them needs a reset.
   */
  private boolean applyToWhoeverIsGone(GpuEvent event, Nvml session) {
    List<Integer> silent =
        gpus.presentWhole()
            .map(GpuStatus::info)
            .filter(gpu -> !GpuSampler.answers(session, gpu, gpus.index(gpu)))
            .map(gpus::index)
            .toList();
    if (silent.isEmpty() && gpus.anyLost()) {
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

  private boolean apply(GpuEvent event, Fault fault) {
    long nowMs = clockMs.getAsLong();
    List<GpuStatus> hit = gpus.all().stream().filter(gpu -> hits(event, gpu.info())).toList();
    hit.forEach(
        gpu ->
            gpus.put(
                new GpuStatus(
                    gpu.info(), gpu.health().fault(fault, nowMs), gpu.load(), gpu.uses())));
    return !hit.isEmpty();
  }

  private boolean hits(GpuEvent event, GpuInfo gpu) {
    return Optional.ofNullable(gpus.present().get(gpu.uuid()))
        .filter(
            index ->
                gpu.part()
                    .map(part -> event.hits(index, part.gpuInstance(), part.computeInstance()))
                    .orElseGet(() -> event.hits(index, GpuEvent.ANY, GpuEvent.ANY)))
        .isPresent();
  }
}
