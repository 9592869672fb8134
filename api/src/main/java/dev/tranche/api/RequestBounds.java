package dev.tranche.api;

/**
 * The size of a pod that is read, and the most that it may request, which is more than any node
 * has. Admission denies more. A pod that requests more and is on a node all the same counts as
 * taking the whole node.
 */
public final class RequestBounds {
  public static final int GPUS_MAX = 1_024;

  /** The replicas of a node: more ids do not fit into the 4 MiB of a gRPC message. */
  public static final int REPLICAS_MAX = 10_000;

  /** The containers of a pod that request GPUs. */
  public static final int CONTAINERS_MAX = 512;

  /** The containers of a pod. */
  public static final int POD_CONTAINERS_MAX = 1_000;

  /** The resources in the limits, or the requests, of one container. */
  public static final int RESOURCES_MAX = 64;

  /** The labels, terms and expressions that choose a pod's nodes. */
  public static final int EXPRESSIONS_MAX = 256;

  /** The values of those expressions. */
  public static final int VALUES_MAX = 8_192;

  /** The characters of an annotation with a single value, such as a share. */
  public static final int VALUE_CHARS_MAX = 256;

  /** The models or uuids of a list, each of which is compared with those of every node. */
  public static final int ALLOW_LIST_ENTRIES_MAX = 64;

  /** The characters of such a list, whose entries may each be as long as a label's value. */
  public static final int ALLOW_LIST_CHARS_MAX = ALLOW_LIST_ENTRIES_MAX * 66;

  /** Objects within each other: more than the API server sends. */
  public static final int DEPTH_MAX = 64;

  private RequestBounds() {}
}
