package dev.tranche.extender.controller;

/** Mistakes and defects that a pod suffers from, and that nothing else tells its owner. */
enum PodMistake {
  /** It was created before the webhook, or bypassed it, and runs as if it had requested nothing. */
  UNSHARED(
      "GpuShareMissing",
      "tranche.extender.unshared.events",
      "Events for pods that did not pass the webhook: dropped if there are too many.",
      "tranche.extender.unshared.pods",
      "Pods that request a share of a GPU and did not pass the webhook; 10,000 at most."),
  /** Its number of GPUs counts replicas, although it counts whole GPUs in other namespaces. */
  UNCONVERTED(
      "GpuNumberCountsReplicas",
      "tranche.extender.unconverted.events",
      "Events for pods whose number of GPUs counts replicas: dropped if there are too many.",
      "tranche.extender.unconverted.pods",
      "Pods in namespaces that the webhook does not see, whose number of GPUs counts replicas; 10,000 at most."),
  /**
   * Its share was sized for a number of replicas per GPU that no node has any more. Its node
   * affinity keeps it off every node, so kube-scheduler never asks the extender about it, and its
   * own message does not say why.
   */
  OUTDATED_SHARE(
      "GpuReplicasChanged",
      "tranche.extender.outdated.share.events",
      "Events for pending pods that were sized for a number of replicas that no node has.",
      "tranche.extender.outdated.share.pods",
      "Pending pods that were sized for a number of replicas that no node has; 10,000 at most."),
  /** Its annotation names GPUs that no node reports. */
  UNKNOWN_UUID(
      "UnknownGpuRequested",
      "tranche.extender.unknown.uuid.events",
      "Events for pods whose annotation names GPUs that no node reports.",
      "",
      ""),
  /**
   * It is nominated, its victims are gone, it fits its node, and kube-scheduler does not try it
   * again. A defect of kube-scheduler can leave a pod so until its next flush, after five minutes
   * (kubernetes/kubernetes#141694).
   */
  UNTRIED_NOMINEE(
      "NominatedPodNotRetried",
      "tranche.extender.untried.nominee.events",
      "Events for nominated pods that fit their node and are not retried.",
      "tranche.extender.nominees.untried",
      "Nominated pods that have fitted their node for 30 s, and that kube-scheduler has not retried."),
  /** The kubelet gave it a replica of another pod (kubernetes/kubernetes#137534). */
  ALLOCATED_TWICE(
      "GpuAllocatedTwice",
      "tranche.extender.duplicate.allocation.events",
      "Events for pods that the kubelet gave a GPU replica of another pod.",
      "tranche.extender.duplicate.allocation.pods",
      "Pods that the kubelet gave a GPU replica of another pod; 0 on a correct kubelet.");

  final String reason;
  final String eventsMetric;
  final String eventsHelp;
  final String podsMetric;
  final String podsHelp;

  /**
   * @param reason of the events
   * @param eventsMetric its label {@code outcome} is written, refused or dropped
   * @param podsMetric how many pods have it; empty: none
   */
  PodMistake(
      String reason, String eventsMetric, String eventsHelp, String podsMetric, String podsHelp) {
    this.reason = reason;
    this.eventsMetric = eventsMetric;
    this.eventsHelp = eventsHelp;
    this.podsMetric = podsMetric;
    this.podsHelp = podsHelp;
  }
}
