package dev.tranche.extender.preempt;

import dev.tranche.api.LabelOperator;
import dev.tranche.extender.ledger.PodFacts;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A PodDisruptionBudget.
 *
 * @param requirements a pod's labels must meet all of them; if empty, it covers every pod of the
 *     namespace
 * @param allowed number of disruptions that are allowed now
 * @param disrupted names of pods whose eviction is counted already
 */
public record Budget(
    String namespace,
    String name,
    List<Requirement> requirements,
    int allowed,
    Set<String> disrupted) {
  public Budget {
    requirements = List.copyOf(requirements);
    disrupted = Set.copyOf(disrupted);
  }

  /** {@code namespace/name}. */
  public String key() {
    return namespace + "/" + name;
  }

  /** One requirement of a label selector. */
  public record Requirement(String label, String operator, Set<String> values) {
    public Requirement {
      values = Set.copyOf(values);
    }

    boolean met(Map<String, String> labels) {
      return LabelOperator.matches(operator, values, LabelOperator.NO_NUMBER, labels.get(label));
    }
  }

  boolean covers(PodFacts pod) {
    return namespace.equals(pod.namespace())
        && !disrupted.contains(pod.name())
        && requirements.stream().allMatch(r -> r.met(pod.preemption().labels()));
  }
}
