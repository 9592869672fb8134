package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;

/** Adds up GPUs, or parts of them, and their memory. */
public final class AmountSum {
  private double gpus;
  private long bytes;

  void add(double moreGpus, long moreBytes) {
    gpus += moreGpus;
    bytes += moreBytes;
  }

  /** Adds what one pod holds of a GPU. */
  void add(GpuRow row, Hold hold) {
    add(gpus(row.gpu(), hold), bytes(row.gpu(), hold));
  }

  /** Returns the part of a GPU that one pod holds. */
  public static double gpus(Inspection.Gpu gpu, Hold hold) {
    return (double) Holder.replicas(gpu, hold) / Holder.replicasPerGpu(gpu, hold);
  }

  /** Returns the memory that one pod holds of a GPU. */
  public static long bytes(Inspection.Gpu gpu, Hold hold) {
    return gpu.view().memoryUsableBytes()
        / Holder.replicasPerGpu(gpu, hold)
        * Holder.replicas(gpu, hold);
  }

  /** Adds all that is not free of a GPU. */
  void addWhole(GpuRow row) {
    var view = row.gpu().view();
    add(view.grantedRatio(), view.grantedBytes(view.grantedReplicas()));
  }

  Amount amount() {
    return Amount.of(gpus, bytes);
  }

  /** Returns these without a part of them. */
  Amount without(AmountSum part) {
    return Amount.of(Math.max(0, gpus - part.gpus), Math.max(0, bytes - part.bytes));
  }
}
