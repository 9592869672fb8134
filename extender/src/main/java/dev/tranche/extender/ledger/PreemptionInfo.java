package dev.tranche.extender.ledger;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a pod that preemption needs.
 *
 * @param labels that a PodDisruptionBudget may select it by; none while the pod is on no node
 * @param startedAtMs when it started, or else when it was created, since 1970
 * @param terminating it has been deleted and is still terminating
 * @param nominatedNode the node where kube-scheduler evicts pods for it
 */
public record PreemptionInfo(
    int priority,
    PodLabels labels,
    long startedAtMs,
    boolean terminating,
    @Nullable String nominatedNode) {
  public static final PreemptionInfo NONE = new PreemptionInfo(0, PodLabels.NONE, 0, false, null);

  public PreemptionInfo(
      int priority,
      Map<String, String> labels,
      long startedAtMs,
      boolean terminating,
      @Nullable String nominatedNode) {
    this(priority, PodLabels.of(labels), startedAtMs, terminating, nominatedNode);
  }
}
