package dev.tranche.api;

/**
 * The words that users write and that the parts of Tranche say to each other through Kubernetes.
 */
public final class Names {
  /** Share of one GPU, {@code 0 < f <= 1}, or a whole number of GPUs; see {@link Fraction}. */
  public static final String GPU_FRACTION = "tranche.dev/gpu-fraction";

  /** Prefix of the share of one named container: {@code tranche.dev/gpu-fraction.trainer}. */
  public static final String GPU_FRACTION_OF = GPU_FRACTION + ".";

  /** GPU memory as a Kubernetes quantity. */
  public static final String GPU_MEMORY = "tranche.dev/gpu-memory";

  /** That share on each of so many different GPUs. */
  public static final String GPU_COUNT = "tranche.dev/gpu-count";

  /** Which container {@link #GPU_FRACTION} speaks of; without it the first app container. */
  public static final String GPU_CONTAINER = "tranche.dev/gpu-container";

  /** {@code load}, {@code packed} or {@code spread}, for this pod. */
  public static final String GPU_PLACEMENT = "tranche.dev/gpu-placement";

  /** Comma-separated product names; a leading {@code !} denies. */
  public static final String GPU_MODEL = "tranche.dev/gpu-model";

  /** Comma-separated GPU uuids; a leading {@code !} denies. */
  public static final String GPU_UUID = "tranche.dev/gpu-uuid";

  /** Stamp of the webhook: the R that the pod's replica count was computed with. */
  public static final String REPLICAS_PER_GPU = "tranche.dev/replicas-per-gpu";

  /** Stamp of the webhook: what was granted, where the request was rounded up. */
  public static final String GRANTED_FRACTION = "tranche.dev/granted-fraction";

  /**
   * Written by the extender with the Binding: the uuids of the pod's GPUs, comma-separated, in the
   * order of the pod's shares.
   */
  public static final String GPU = "tranche.dev/gpu";

  /** On a node, written by the extender's leader: room has grown, rejected pods may try again. */
  public static final String ROOM = "tranche.dev/room";

  /**
   * On a node, written by the extender: which of its labels are the extender's, as {@code
   * key=value}, comma-separated.
   */
  public static final String NODE_LABELS = "tranche.dev/node-labels";

  /** On a node, written by people: uuids of GPUs that take no new pods, comma-separated. */
  public static final String CORDON_GPUS = "tranche.dev/cordon-gpus";

  /** Node label, GPU Feature Discovery's: replicas per GPU. */
  public static final String LABEL_REPLICAS = "nvidia.com/gpu.replicas";

  /** Node label that selects the config of the node plugin; NVIDIA's name. */
  public static final String LABEL_CONFIG = "nvidia.com/device-plugin.config";

  public static final String RESOURCE = "nvidia.com/gpu";
  public static final String SCHEDULER = "tranche-scheduler";
  public static final String RUNTIME_CLASS = "nvidia";

  /** Audience of the token that a node plugin shows to the extender. */
  public static final String TOKEN_AUDIENCE = "tranche-extender";

  private Names() {}
}
