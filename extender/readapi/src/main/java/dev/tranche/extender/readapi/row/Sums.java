package dev.tranche.extender.readapi.row;

import dev.tranche.extender.readapi.row.Snapshot.GpuRow;

/** The GPUs in total, healthy, granted and in use, with their memory. */
public record Sums(Amount total, Amount healthy, Amount granted, UsedAmount used) {
  /** Measured use. */
  public record UsedAmount(GpuQuantity gpus, MemoryQuantity memory, int measuredGpus) {}

  /** Adds up GPUs. */
  static final class Adder {
    private final AmountSum total = new AmountSum();
    private final AmountSum healthy = new AmountSum();
    private final AmountSum granted = new AmountSum();
    private final AmountSum used = new AmountSum();
    private int gpus;
    private int measured;

    int gpus() {
      return gpus;
    }

    void add(GpuRow row) {
      var gpu = row.gpu();
      long bytes = gpu.view().memoryUsableBytes();
      gpus++;
      total.add(1, bytes);
      if (Health.of(row.node(), gpu) == Health.HEALTHY) {
        healthy.add(1, bytes);
      }
      granted.addWhole(row);
      if (gpu.view().measured()) {
        measured++;
        used.add(gpu.reading().smMean(), gpu.reading().memoryUsedBytes());
      }
    }

    Sums sums() {
      Amount inUse = used.amount();
      return new Sums(
          total.amount(),
          healthy.amount(),
          granted.amount(),
          new UsedAmount(inUse.gpus(), inUse.memory(), measured));
    }
  }
}
