package dev.tranche.extender.placement;

/**
 * Why a node is refused: twelve fixed sentences. They carry no figures, since kube-scheduler writes
 * the distinct ones into the pod's condition, and a text that changes wakes the pod again for ever.
 * Figures are for the event and the explanation.
 */
public enum Reason {
  NO_REPORT("the node's GPU plugin sends no reports", false),
  NOT_SERVING("the node's GPU plugin is draining or not registered with the kubelet", false),
  NO_GPU("the node has no GPU of the resource that the pod asks for", true),
  OTHER_REPLICAS(
      "the node splits GPUs into a different number of replicas than the pod was sized for", true),
  NOT_ALLOWED("the pod's lists of GPU models or uuids allow none of the node's GPUs", true),
  UNFIT("the node's GPUs that could take the pod are unhealthy or cordoned", true),
  FULL("the node's GPUs have too few free replicas", false),
  // No smaller number of pods elsewhere on the node makes a hole: preemption counts totals only.
  FRAGMENTED("the node's free GPU replicas are scattered: no GPU has room for a whole share", true),
  // Likewise.
  TOO_FEW_GPUS(
      "the node's free GPU replicas are scattered: too few GPUs have room for a whole share", true),
  CLIENTS("the node's GPUs have too few free MPS client slots", false),
  MEMORY("the node's GPUs have too little real free memory", false),
  // Nothing is known, so it must not count as something that no eviction mends.
  UNDECIDED(
      "the pod has too many different shares to find their GPUs in time; this is tried again",
      false);

  private final String sentence;
  private final boolean unresolvable;

  Reason(String sentence, boolean unresolvable) {
    this.sentence = sentence;
    this.unresolvable = unresolvable;
  }

  public String sentence() {
    return sentence;
  }

  /** Whether evicting pods by their totals cannot help. */
  public boolean unresolvable() {
    return unresolvable;
  }
}
