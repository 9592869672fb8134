package dev.tranche.extender.preempt;

import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PodLabels;
import java.util.List;
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
  /** What an entry of a list takes beside its text. */
  private static final int ENTRY_CHARS = 48;

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

    boolean met(PodLabels labels) {
      return switch (operator) {
        case "In" -> hasOneOf(labels);
        case "NotIn" -> !hasOneOf(labels);
        case "Exists" -> labels.has(label);
        case "DoesNotExist" -> !labels.has(label);
        default -> false;
      };
    }

    private boolean hasOneOf(PodLabels labels) {
      return values.stream().anyMatch(value -> labels.has(label, value));
    }
  }

  /** Returns a budget that covers every pod of the namespace and allows no disruption. */
  static Budget protectingAll(String namespace) {
    return new Budget(namespace, "", List.of(), 0, Set.of());
  }

  /** Returns about how much memory the budget takes, in characters. */
  int chars() {
    int chars = 0;
    for (Requirement requirement : requirements) {
      chars += ENTRY_CHARS + requirement.label().length() + requirement.operator().length();
      for (String value : requirement.values()) {
        chars += ENTRY_CHARS + value.length();
      }
    }
    for (String pod : disrupted) {
      chars += ENTRY_CHARS + pod.length();
    }
    return chars;
  }

  /** Returns the most comparisons that {@link #covers} takes. */
  int comparisons() {
    return 1 + requirements.stream().mapToInt(r -> Math.max(1, r.values().size())).sum();
  }

  boolean covers(PodFacts pod) {
    PodLabels labels = pod.preemption().labels();
    return namespace.equals(pod.namespace())
        && !disrupted.contains(pod.name())
        && (labels.tooMany() || requirements.stream().allMatch(r -> r.met(labels)));
  }
}
