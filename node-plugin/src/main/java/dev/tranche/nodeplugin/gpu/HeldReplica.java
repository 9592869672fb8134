package dev.tranche.nodeplugin.gpu;

import dev.tranche.api.ReplicaId;

/**
 * A replica that a container holds, maybe of an earlier config.
 *
 * @param resource as which the kubelet gave it
 * @param of how many replicas its GPU had then
 */
public record HeldReplica(String resource, String id, int of) {
  public HeldReplica {
    if (of < 1) {
      throw new IllegalArgumentException(id + " is one of at least 1 replica, not of " + of);
    }
  }

  public String uuid() {
    return ReplicaId.uuidOf(id);
  }

  /** The part of the GPU that it is, 0 to 1. */
  public double share() {
    return 1.0 / of;
  }
}
