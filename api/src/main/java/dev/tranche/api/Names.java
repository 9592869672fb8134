package dev.tranche.api;

import java.util.Set;

/**
 * The names of annotations, labels, taints and resources that users write, or that the parts of
 * Tranche share through Kubernetes.
 */
public final class Names {
  /** Share of one GPU, {@code 0 < f <= 1}, or a whole number of GPUs; see {@link Fraction}. */
  public static final String GPU_FRACTION = "tranche.dev/gpu-fraction";

  /** Prefix of the share of one named container: {@code tranche.dev/gpu-fraction.trainer}. */
  public static final String GPU_FRACTION_OF = GPU_FRACTION + ".";

  /** GPU memory on each GPU, as a Kubernetes quantity. */
  public static final String GPU_MEMORY = "tranche.dev/gpu-memory";

  /** Prefix of the memory of one named container: {@code tranche.dev/gpu-memory.trainer}. */
  public static final String GPU_MEMORY_OF = GPU_MEMORY + ".";

  /**
   * Memory limit of each container with a share, below that of its share: a quantity, or {@code
   * none}; see {@link LimitRequest}.
   */
  public static final String GPU_MEMORY_LIMIT = "tranche.dev/gpu-memory-limit";

  /** Prefix of the limit of one named container: {@code tranche.dev/gpu-memory-limit.trainer}. */
  public static final String GPU_MEMORY_LIMIT_OF = GPU_MEMORY_LIMIT + ".";

  /** The number of different GPUs on each of which the share is requested. */
  public static final String GPU_COUNT = "tranche.dev/gpu-count";

  /**
   * The container that {@link #GPU_FRACTION} or {@link #GPU_MEMORY} applies to. If the user names
   * none, the webhook writes its choice.
   */
  public static final String GPU_CONTAINER = "tranche.dev/gpu-container";

  /** {@code load}, {@code packed} or {@code spread}, for this pod. */
  public static final String GPU_PLACEMENT = "tranche.dev/gpu-placement";

  /** Comma-separated product names; a leading {@code !} denies. */
  public static final String GPU_MODEL = "tranche.dev/gpu-model";

  /** Comma-separated GPU uuids; a leading {@code !} denies. */
  public static final String GPU_UUID = "tranche.dev/gpu-uuid";

  /** Written by the webhook: the R that the pod's replica count was computed with. */
  public static final String REPLICAS_PER_GPU = "tranche.dev/replicas-per-gpu";

  /** Written by the webhook: the share that was granted, if the request was rounded up. */
  public static final String GRANTED_FRACTION = "tranche.dev/granted-fraction";

  /** What the webhook has added to the pod's spec, in JSON: requirements and the scheduler. */
  public static final String ADDED = "tranche.dev/webhook-added";

  /**
   * Written by the webhook: the whole GPUs that containers requested as plain {@code
   * nvidia.com/gpu: N}, as {@code container=N}, comma-separated.
   */
  public static final String GPUS_REQUESTED = "tranche.dev/gpus-requested";

  /**
   * Written by the extender with the Binding: the uuids of the pod's GPUs, comma-separated, in the
   * order of the pod's shares.
   */
  public static final String GPU = "tranche.dev/gpu";

  /**
   * Written by the extender with the Binding: for each entry of {@link #GPU}, how many replicas the
   * pod has there of how many, such as {@code 8/10,4/10}. The entries of a GPU add up to what the
   * pod holds of it, init containers included.
   */
  public static final String GRANTED_REPLICAS = "tranche.dev/granted-replicas";

  /**
   * Written by the extender with the Binding, for people: the memory that was granted of each of
   * the pod's GPUs, in the order of {@link #GPU}.
   */
  public static final String GRANTED_MEMORY = "tranche.dev/granted-memory";

  /** Written by the extender with the Binding, for people: the models of the pod's GPUs. */
  public static final String GPU_MODEL_GRANTED = "tranche.dev/gpu-model-granted";

  /**
   * On a node, written by the extender's leader: a time. Each change makes kube-scheduler retry
   * rejected pods, for instance after GPU replicas were freed.
   */
  public static final String RETRY_TIME = "tranche.dev/retry-at";

  /**
   * On a node, written by the extender: which of its labels are the extender's, as {@code
   * key=value}, comma-separated.
   */
  public static final String NODE_LABELS = "tranche.dev/node-labels";

  /** On a node, written by the extender: how much of its GPUs is granted and in use. */
  public static final String GPU_USE = "tranche.dev/gpu-use";

  /** On a node, written by people: uuids of GPUs that take no new pods, comma-separated. */
  public static final String CORDON_GPUS = "tranche.dev/cordon-gpus";

  /**
   * Node label, ours: replicas per GPU, by the node plugin's report. A node pool's template has it,
   * too.
   */
  public static final String LABEL_REPLICAS_PER_GPU = REPLICAS_PER_GPU;

  /**
   * Node label, ours: {@code none}, {@code time-slicing} or {@code mps}, by the node plugin's
   * report.
   */
  public static final String LABEL_SHARING_STRATEGY = "tranche.dev/sharing-strategy";

  /**
   * Node label, GPU Feature Discovery's: replicas per GPU by its own config, which may differ from
   * the node plugin's.
   */
  public static final String LABEL_REPLICAS = "nvidia.com/gpu.replicas";

  /** Node label, GPU Feature Discovery's: memory of one GPU in MiB, the driver's part included. */
  public static final String LABEL_MEMORY = "nvidia.com/gpu.memory";

  /** Node label, ours: memory of one GPU in MiB that programs can have, so without the driver's. */
  public static final String LABEL_MEMORY_USABLE = "tranche.dev/gpu-memory-usable-mib";

  /**
   * Node label, ours: number of GPUs of all models. GPU Feature Discovery counts only one model.
   */
  public static final String LABEL_GPUS = "tranche.dev/gpus";

  /** Node label, GPU Feature Discovery's: {@code Tesla-T4}, or {@code Tesla-T4-SHARED}. */
  public static final String LABEL_PRODUCT = "nvidia.com/gpu.product";

  /**
   * Labels that GPU Feature Discovery writes and we never do. Its timestamp can be switched off,
   * and some need a GPU that tells its compute capability. NVIDIA calls the first of the driver's
   * two deprecated.
   */
  public static final Set<String> LABELS_OF_DISCOVERY =
      Set.of(
          "nvidia.com/gfd.timestamp",
          "nvidia.com/gpu.family",
          "nvidia.com/gpu.compute.major",
          "nvidia.com/cuda.driver.major",
          "nvidia.com/cuda.driver-version.major");

  /** Node label that selects the config of the node plugin; NVIDIA's name. */
  public static final String LABEL_CONFIG = "nvidia.com/device-plugin.config";

  /**
   * Key of the taint that an autoscaler's nodes start with. The extender removes it when the node's
   * plugin serves.
   */
  public static final String STARTUP_TAINT = "tranche.dev/plugin-not-ready";

  /**
   * The same taint, for clusters in which nobody can set Cluster Autoscaler's flags. It recognizes
   * startup taints by this prefix.
   */
  public static final String STARTUP_TAINT_CLUSTER_AUTOSCALER =
      "startup-taint.cluster-autoscaler.kubernetes.io/tranche-plugin-not-ready";

  /**
   * On a pod or namespace, with the one value {@link #UNCHANGED}: plain requests stay as they are,
   * for nodes that Tranche does not serve.
   */
  public static final String PLAIN_REQUESTS = "tranche.dev/plain-requests";

  /** Value of {@link #PLAIN_REQUESTS}. */
  public static final String UNCHANGED = "unchanged";

  /**
   * On a node, written by the extender; on a pod, written by the webhook: what serves the GPUs,
   * {@link #DRA} or, of a pod, {@link #OTHER}. Without it, Tranche's device plugin does.
   */
  public static final String SERVED_BY = "tranche.dev/gpus-served-by";

  /** Value of {@link #SERVED_BY}: a driver of Dynamic Resource Allocation. */
  public static final String DRA = "dra";

  /** Value of {@link #SERVED_BY}: the nodes are not Tranche's. */
  public static final String OTHER = "other";

  public static final String RESOURCE = "nvidia.com/gpu";
  public static final String SCHEDULER = "tranche-scheduler";
  public static final String RUNTIME_CLASS = "nvidia";

  /** Audience of the token that a node plugin shows to the extender. */
  public static final String TOKEN_AUDIENCE = "tranche-extender";

  private Names() {}

  /** Whether the annotation of that key asks for a share, well-formed or not. */
  public static boolean requestsShare(String key) {
    return key.equals(GPU_FRACTION) || key.startsWith(GPU_FRACTION_OF) || requestsMemory(key);
  }

  /** Whether it asks for a share by its memory. */
  public static boolean requestsMemory(String key) {
    return key.equals(GPU_MEMORY) || key.startsWith(GPU_MEMORY_OF);
  }
}
