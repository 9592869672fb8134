package dev.tranche.extender.readapi.row;

import dev.tranche.extender.placement.GpuView;
import org.jspecify.annotations.Nullable;

/** The use that pods are placed by. */
public record Effective(MemoryQuantity memoryFree, @Nullable GpuQuantity sm) {
  static Effective of(GpuView gpu) {
    return new Effective(
        new MemoryQuantity(gpu.memoryFreeBytes()),
        gpu.measured() ? GpuQuantity.of(gpu.smLoad()) : null);
  }
}
