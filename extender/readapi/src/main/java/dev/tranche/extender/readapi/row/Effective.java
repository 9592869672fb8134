package dev.tranche.extender.readapi.row;

import dev.tranche.extender.placement.GpuView;
import org.jspecify.annotations.Nullable;

/** The use that pods are placed by. */
public record Effective(MemoryQuantity memoryFree, @Nullable GpuQuantity sm) {
  private static final double PERCENT = 100;

  static Effective of(GpuView gpu) {
    return of(gpu, gpu.smLoad());
  }

  /** Returns it with the load to the percent, as explanations show it. */
  static Effective toThePercent(GpuView gpu) {
    return of(gpu, Math.round(gpu.smLoad() * PERCENT) / PERCENT);
  }

  private static Effective of(GpuView gpu, double sm) {
    return new Effective(
        new MemoryQuantity(gpu.memoryFreeBytes()), gpu.measured() ? GpuQuantity.of(sm) : null);
  }
}
