package dev.tranche.extender.readapi.row;

import dev.tranche.extender.ledger.Limited;
import org.jspecify.annotations.Nullable;

/**
 * What a pod holds of a GPU, or would.
 *
 * @param limited null if nobody holds it yet, or the node does not tell
 */
public record GpuShare(
    String uuid, int index, int replicas, int replicasPerGpu, @Nullable Limited limited) {}
