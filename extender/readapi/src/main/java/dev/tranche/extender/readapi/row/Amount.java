package dev.tranche.extender.readapi.row;

/** GPUs, and memory of GPUs. */
public record Amount(GpuQuantity gpus, MemoryQuantity memory) {
  static Amount of(double gpus, long bytes) {
    return new Amount(GpuQuantity.of(gpus), new MemoryQuantity(bytes));
  }
}
