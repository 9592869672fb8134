package dev.tranche.extender.watch;

import dev.tranche.extender.preempt.Budget;
import dev.tranche.extender.preempt.Budget.Requirement;
import io.fabric8.kubernetes.api.model.LabelSelector;
import io.fabric8.kubernetes.api.model.LabelSelectorRequirement;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudgetList;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads the fields of a PodDisruptionBudget that preemption needs. */
public final class BudgetReader {
  /** The API says that no selector selects no pod; no label has an empty name. */
  static final Requirement NO_POD = new Requirement("", "Exists", Set.of());

  private BudgetReader() {}

  public static ResourceKind<PodDisruptionBudget, WatchedBudget> kind() {
    return new ResourceKind<>(
        "/apis/policy/v1/poddisruptionbudgets",
        PodDisruptionBudget.class,
        PodDisruptionBudgetList.class,
        budget ->
            new WatchedBudget(
                budget.getMetadata().getUid(),
                String.valueOf(budget.getMetadata().getResourceVersion()),
                read(budget)),
        in -> new BudgetMessage().read(in).watched());
  }

  /** A budget without a status yet allows no disruption. */
  static Budget read(PodDisruptionBudget budget) {
    var meta = budget.getMetadata();
    var status = budget.getStatus();
    Integer allowed = status == null ? null : status.getDisruptionsAllowed();
    Map<String, String> disrupted = status == null ? null : status.getDisruptedPods();
    return new Budget(
        meta.getNamespace(),
        meta.getName(),
        requirements(budget.getSpec() == null ? null : budget.getSpec().getSelector()),
        allowed == null ? 0 : allowed,
        disrupted == null ? Set.of() : disrupted.keySet());
  }

  private static List<Requirement> requirements(@Nullable LabelSelector selector) {
    var requirements = new ArrayList<Requirement>();
    if (selector == null) {
      requirements.add(NO_POD);
      return requirements;
    }
    Optional.ofNullable(selector.getMatchLabels())
        .orElse(Map.of())
        .forEach((label, value) -> requirements.add(new Requirement(label, "In", Set.of(value))));
    for (LabelSelectorRequirement each :
        Optional.ofNullable(selector.getMatchExpressions()).orElse(List.of())) {
      Set<String> values = each.getValues() == null ? Set.of() : Set.copyOf(each.getValues());
      requirements.add(new Requirement(each.getKey(), each.getOperator(), values));
    }
    return requirements;
  }
}
