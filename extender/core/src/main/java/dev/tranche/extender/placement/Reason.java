package dev.tranche.extender.placement;

/**
 * The reasons to refuse a node: fixed sentences without figures. kube-scheduler writes the distinct
 * ones into the pod's condition, and a text that changes would wake the pod forever. The figures
 * are in the event and the explanation. SchedulerVerdict reads the sentences back.
 */
public enum Reason {
  FAILED("the node could not be evaluated because of a bug; the extender's log says more", true),
  NO_REPORT("the node's GPU plugin sends no reports", false),
  NOT_SERVING("the node's GPU plugin is draining or not registered with the kubelet", false),
  NO_GPU("the node has no GPU of the resource that the pod requests", true),
  OTHER_REPLICAS(
      "the node splits GPUs into a different number of replicas than the pod was sized for", true),
  NOT_ALLOWED("the pod's GPU models or uuids exclude all GPUs of the node", true),
  UNFIT("the node's GPUs that could take the pod are unhealthy or cordoned", true),
  FULL("the node's GPUs have too few free replicas", false),
  // kube-scheduler's preemption counts totals only, so it would not free a share on a single GPU.
  FRAGMENTED("the node has enough free GPU replicas, but no single GPU has enough", true),
  // The same applies here.
  TOO_FEW_GPUS(
      "the node has enough free GPU replicas, but too few GPUs have enough for one share each",
      true),
  CLIENTS("the node's GPUs have too few free MPS client slots", false),
  MEMORY("the node's GPUs have too little measured free memory", false),
  // The pod would fit. Never told to kube-scheduler, which would evict pods of other nodes: see
  // Filter.
  NOT_ACKNOWLEDGING(
      "the node's GPU plugin does not acknowledge assignments, so it temporarily gets no pods",
      true),
  SERVED_BY_PLUGIN(
      "the pod counts GPUs of nodes that others serve, and this node has a device plugin", true),
  // The search was given up, so this must not count as a refusal that no eviction can resolve.
  UNDECIDED(
      "the pod has too many different shares to find their GPUs in time; it will be retried",
      false);

  public final String sentence;

  /** Whether evicting pods by the node's totals cannot help. */
  public final boolean unresolvable;

  Reason(String sentence, boolean unresolvable) {
    this.sentence = sentence;
    this.unresolvable = unresolvable;
  }
}
