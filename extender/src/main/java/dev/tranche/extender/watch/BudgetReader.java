package dev.tranche.extender.watch;

import dev.tranche.extender.preempt.Budget;
import dev.tranche.extender.preempt.Budget.Requirement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads the fields of a PodDisruptionBudget that preemption needs. */
public final class BudgetReader {
  /** The API says that no selector selects no pod; no label has an empty name. */
  static final Requirement NO_POD = new Requirement("", "Exists", Set.of());

  private BudgetReader() {}

  record Fields(Metadata metadata, @Nullable Spec spec, @Nullable Status status) {
    /** A budget without a status yet allows no disruption. */
    Watched<Budget> watched() {
      var budget =
          new Budget(
              metadata.namespace(),
              metadata.name(),
              spec == null || spec.selector == null
                  ? List.of(NO_POD)
                  : spec.selector.requirements(),
              status == null ? 0 : status.disruptionsAllowed,
              status == null ? Set.of() : status.disruptedPods.keySet());
      return Watched.of(metadata, budget);
    }
  }

  record Spec(@Nullable Selector selector) {}

  record Selector(Map<String, String> matchLabels, List<Expression> matchExpressions) {
    List<Requirement> requirements() {
      var all = new ArrayList<Requirement>();
      matchLabels.forEach((label, value) -> all.add(new Requirement(label, "In", Set.of(value))));
      matchExpressions.forEach(
          each -> all.add(new Requirement(each.key, each.operator, Set.copyOf(each.values))));
      return all;
    }
  }

  record Expression(String key, String operator, List<String> values) {}

  record Status(int disruptionsAllowed, Map<String, String> disruptedPods) {}

  public static ResourceKind<?, Watched<Budget>> kind() {
    return new ResourceKind<>(
        "/apis/policy/v1/poddisruptionbudgets", Fields.class, Fields::watched);
  }
}
