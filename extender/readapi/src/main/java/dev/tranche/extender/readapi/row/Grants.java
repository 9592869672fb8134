package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;

/** Adds up what pods hold of GPUs. */
public final class Grants {
  private double gpus;
  private long bytes;

  /** Adds what one pod holds of a GPU. */
  void add(GpuRow row, Hold hold) {
    gpus += (double) Holder.replicas(row.gpu(), hold) / Holder.replicasPerGpu(row.gpu(), hold);
    bytes += bytes(row.gpu(), hold);
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
    int granted = view.replicas() - view.freeReplicas();
    gpus += (double) granted / view.replicas();
    bytes += view.grantedBytes(granted);
  }

  Amount amount() {
    return Amount.of(gpus, bytes);
  }

  /** Returns these without a part of them. */
  Amount without(Grants part) {
    return Amount.of(Math.max(0, gpus - part.gpus), Math.max(0, bytes - part.bytes));
  }
}
