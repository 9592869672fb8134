package dev.tranche.api;

/**
 * The most that one pod may request, which is more than any node has. Admission denies more. A pod
 * that requests more and is on a node all the same counts as taking the whole node.
 */
public final class RequestBounds {
  public static final int GPUS_MAX = 1_024;

  /** The replicas of a node: more ids do not fit into the 4 MiB of a gRPC message. */
  public static final int REPLICAS_MAX = 10_000;

  /** The containers of a pod that request GPUs. */
  public static final int CONTAINERS_MAX = 512;

  private RequestBounds() {}
}
