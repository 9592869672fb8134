package dev.tranche.extender.readapi.row;

import com.fasterxml.jackson.annotation.JsonPropertyDescription;
import dev.tranche.extender.ledger.Limited;
import org.jspecify.annotations.Nullable;

/** What a pod holds of a GPU, or would. */
public record GpuShare(
    String uuid,
    int index,
    int replicas,
    int replicasPerGpu,
    @JsonPropertyDescription(
            "Whether the driver limits the pod to its share of the memory, as read back. Absent where limits are not required, or while no container runs.")
        @Nullable Limited limited) {
  /** A share that nobody holds yet. */
  public GpuShare(String uuid, int index, int replicas, int replicasPerGpu) {
    this(uuid, index, replicas, replicasPerGpu, null);
  }
}
