package dev.tranche.extender.preempt;

import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PodLabels;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

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
  /** A label's prefix may have 253 characters, and its name 63. */
  private static final int TEXT_CHARS_MAX = 253 + 1 + 63;

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
    boolean met(PodLabels labels) {
      return switch (operator) {
        case "In" -> hasOneOf(labels);
        case "NotIn" -> !hasOneOf(labels);
        case "Exists" -> labels.has(label);
        case "DoesNotExist" -> !labels.has(label);
        default -> false;
      };
    }

    private Stream<String> texts() {
      return Stream.concat(Stream.of(label), values.stream());
    }

    private boolean hasOneOf(PodLabels labels) {
      return values.stream().anyMatch(value -> labels.has(label, value));
    }
  }

  /** Returns a budget that covers every pod of the namespace and allows no disruption. */
  static Budget protectingAll(String namespace) {
    return new Budget(namespace, "", List.of(), 0, Set.of());
  }

  /** Returns how many labels, values and pods it names; {@link #covers} compares no more. */
  int entries() {
    return disrupted.size() + requirements.stream().mapToInt(r -> 1 + r.values().size()).sum();
  }

  /** Returns whether a text is longer than that of any label, or the name of any pod. */
  boolean hasLongText() {
    return Stream.concat(disrupted.stream(), requirements.stream().flatMap(Requirement::texts))
        .anyMatch(text -> text.length() > TEXT_CHARS_MAX);
  }

  boolean covers(PodFacts pod) {
    PodLabels labels = pod.preemption().labels();
    return namespace.equals(pod.namespace())
        && !disrupted.contains(pod.name())
        && (labels.tooMany() || requirements.stream().allMatch(r -> r.met(labels)));
  }
}
