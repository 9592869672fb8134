package dev.tranche.extender.readapi.row;

import dev.tranche.extender.readapi.row.Snapshot.GpuRow;

/** The GPUs in total, healthy, granted and in use, with their memory. */
public record Sums(Amount total, Amount healthy, Amount granted, UsedAmount used) {
  /** Measured use. */
  public record UsedAmount(GpuQuantity gpus, MemoryQuantity memory, int measuredGpus) {}

  /** Adds up GPUs. */
  static final class Adder {
    private int total;
    private long totalBytes;
    private int healthy;
    private long healthyBytes;
    private double granted;
    private long grantedBytes;
    private int measured;
    private double usedSm;
    private long usedBytes;

    int total() {
      return total;
    }

    void add(GpuRow row) {
      var gpu = row.gpu();
      var view = gpu.view();
      int replicas = view.replicas() - view.freeReplicas();
      total++;
      totalBytes += view.memoryUsableBytes();
      if (Health.of(row.node(), gpu) == Health.HEALTHY) {
        healthy++;
        healthyBytes += view.memoryUsableBytes();
      }
      granted += (double) replicas / view.replicas();
      grantedBytes += view.grantedBytes(replicas);
      if (view.measured()) {
        measured++;
        usedSm += gpu.smMean();
        usedBytes += gpu.memoryUsedBytes();
      }
    }

    Sums sums() {
      return new Sums(
          Amount.of(total, totalBytes),
          Amount.of(healthy, healthyBytes),
          Amount.of(granted, grantedBytes),
          new UsedAmount(GpuQuantity.of(usedSm), new MemoryQuantity(usedBytes), measured));
    }
  }
}
