package dev.tranche.extender.controller;

/** Mistakes and defects that a pod suffers from, and that nothing else tells its owner. */
enum PodMistake {
  /** It was created before the webhook, or bypassed it, and runs as if it had requested nothing. */
  UNSHARED("GpuShareMissing"),
  /** Its number of GPUs counts replicas, although it counts whole GPUs in other namespaces. */
  UNCONVERTED("GpuNumberCountsReplicas"),
  /**
   * Its share was sized for a number of replicas per GPU that no node has any more. Its node
   * affinity keeps it off every node, so kube-scheduler never asks the extender about it, and its
   * own message does not say why.
   */
  OUTDATED_SHARE("GpuReplicasChanged"),
  /** Its annotation names GPUs that no node reports. */
  UNKNOWN_UUID("UnknownGpuRequested"),
  /** The kubelet gave it a replica of another pod (kubernetes/kubernetes#137534). */
  ALLOCATED_TWICE("GpuAllocatedTwice");

  final String reason;

  /**
   * @param reason of the events, and the metrics' label {@code mistake}
   */
  PodMistake(String reason) {
    this.reason = reason;
  }
}
