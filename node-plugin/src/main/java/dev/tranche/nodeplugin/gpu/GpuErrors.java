package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.health.Fault;
import dev.tranche.nodeplugin.health.HealthOptions;
import dev.tranche.nodeplugin.nvml.GpuEvent;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Nvml;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/** Marks the GPUs that an error of NVML concerns. Confined to the thread that calls NVML. */
record GpuErrors(HealthOptions options, LongSupplier clockMs, KnownGpus gpus) {
  /** Applies an error and returns whether a GPU's health changed. */
  boolean apply(GpuEvent event, Nvml session) {
    if (!options.xids().unhealthy(event.code())) {
      return false;
    }
    Fault fault = Fault.ofXid(event.code());
    return event.index() == GpuEvent.ANY
        ? applyToUnresponsive(event, fault, session)
        : apply(event::hits, fault);
  }

  /**
   * Applies an error of an unknown GPU, such as one that no longer gives a handle. The error
   * belongs to a GPU that does not answer. If all GPUs answer, it applies to all, but none of them
   * needs a reset.
   */
  private boolean applyToUnresponsive(GpuEvent event, Fault fault, Nvml session) {
    List<Integer> unresponsive =
        gpus.presentGpus()
            .map(GpuStatus::info)
            .filter(gpu -> !GpuSampler.answers(session, gpu))
            .map(GpuInfo::index)
            .toList();
    if (unresponsive.isEmpty() && gpus.anyLost()) {
      // It is that of a GPU that is already gone.
      return false;
    }
    return unresponsive.isEmpty()
        ? apply(event::hits, new Fault(fault.sentence(), false))
        : apply(gpu -> event.hits(gpu) && unresponsive.contains(gpu.index()), fault);
  }

  private boolean apply(Predicate<GpuInfo> concerned, Fault fault) {
    long nowMs = clockMs.getAsLong();
    List<GpuStatus> hit =
        gpus.all().stream()
            .filter(gpu -> gpus.isPresent(gpu) && concerned.test(gpu.info()))
            .toList();
    hit.forEach(gpu -> gpus.put(gpu.withHealth(gpu.health().afterFault(fault, nowMs))));
    return !hit.isEmpty();
  }
}
