package dev.tranche.extender.ledger;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What preemption asks of a pod.
 *
 * @param labels that a PodDisruptionBudget may select it by
 * @param startedAtMs since 1970, or when it was created
 * @param leaving it has been deleted and is still terminating
 * @param nominatedNode where kube-scheduler makes room for it
 */
public record PreemptionInfo(
    int priority,
    Map<String, String> labels,
    long startedAtMs,
    boolean leaving,
    @Nullable String nominatedNode) {
  public static final PreemptionInfo NONE = new PreemptionInfo(0, Map.of(), 0, false, null);

  public PreemptionInfo {
    labels = Map.copyOf(labels);
  }
}
