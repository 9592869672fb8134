package dev.tranche.extender.ledger;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a pod that preemption needs.
 *
 * @param labels that a PodDisruptionBudget may select it by; none while the pod is on no node
 * @param startedAtMs when it started, or else when it was created, since 1970
 * @param started whether its kubelet has accepted it, by its status
 * @param terminating it has been deleted and is still terminating
 * @param nominatedNode the node where kube-scheduler evicts pods for it
 * @param deletionAtMs when its grace period ends, since 1970; 0 if it is not terminating
 * @param needs what it needs of its node beside GPUs
 */
public record PreemptionInfo(
    int priority,
    PodLabels labels,
    long startedAtMs,
    boolean started,
    boolean terminating,
    @Nullable String nominatedNode,
    long deletionAtMs,
    NodeNeeds needs) {
  public static final PreemptionInfo NONE = new PreemptionInfo(0, Map.of(), 0, false, null);

  /** A pod that needs nothing of its node but GPUs. */
  public PreemptionInfo(
      int priority,
      Map<String, String> labels,
      long startedAtMs,
      boolean terminating,
      @Nullable String nominatedNode) {
    this(
        priority,
        PodLabels.of(labels),
        startedAtMs,
        true,
        terminating,
        nominatedNode,
        0,
        NodeNeeds.NONE);
  }
}
