package dev.tranche.extender.readapi.row;

import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;

/** Adds up what pods hold of GPUs. */
final class Grants {
  private double gpus;
  private long bytes;

  /** Adds what one pod holds of a GPU. */
  void add(GpuRow row, Hold hold) {
    int replicas = Holder.replicas(row.gpu(), hold);
    int of = Holder.replicasPerGpu(row.gpu(), hold);
    gpus += (double) replicas / of;
    bytes += row.gpu().view().memoryUsableBytes() / of * replicas;
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
