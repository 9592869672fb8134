package dev.tranche.nodeplugin.config;

import dev.tranche.api.RequestBounds;

/** How many replicas a node can have. */
public final class ReplicaLimit {
  /** The limit for all GPUs together: more ids do not fit into the 4 MiB of a gRPC message. */
  public static final int PER_NODE = RequestBounds.REPLICAS_MAX;

  private ReplicaLimit() {}
}
