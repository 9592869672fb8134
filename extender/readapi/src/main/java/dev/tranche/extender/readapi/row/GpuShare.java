package dev.tranche.extender.readapi.row;

import dev.tranche.extender.ledger.Limited;
import org.jspecify.annotations.Nullable;

/** What a pod holds of a GPU, or would. */
public record GpuShare(
    String uuid, int index, int replicas, int replicasPerGpu, @Nullable Limited limited) {
  /** A share that nobody holds yet. */
  public GpuShare(String uuid, int index, int replicas, int replicasPerGpu) {
    this(uuid, index, replicas, replicasPerGpu, null);
  }
}
