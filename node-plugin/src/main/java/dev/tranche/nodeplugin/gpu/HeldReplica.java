package dev.tranche.nodeplugin.gpu;

import dev.tranche.api.GpuPart;
import dev.tranche.api.ReplicaId;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * A replica that a container holds, possibly of an earlier config.
 *
 * @param resource under which the kubelet gave it
 * @param replicasPerGpu how many replicas its GPU had then
 * @param podOfInit {@code namespace/name} of the pod whose init container got it; else empty. It
 *     stays the pod's, and the kubelet lists it only if another container takes it over
 * @param memoryLimit in bytes, if the pod said something about it at Allocate
 */
public record HeldReplica(
    String resource, String id, int replicasPerGpu, String podOfInit, OptionalLong memoryLimit) {
  public HeldReplica(String resource, String id, int replicasPerGpu) {
    this(resource, id, replicasPerGpu, "", OptionalLong.empty());
  }

  public String uuid() {
    return ReplicaId.uuidOf(id);
  }

  /** Returns whether the sharing, if there is any, grants such a replica. */
  boolean grantedUnder(@Nullable GpuSharing how) {
    return how != null
        && resource.equals(how.resource())
        && replicasPerGpu == how.replicas()
        && id.equals(uuid()) != how.shared();
  }

  /** Returns its part of the GPU. */
  public GpuPart part() {
    return GpuPart.of(1, replicasPerGpu);
  }
}
