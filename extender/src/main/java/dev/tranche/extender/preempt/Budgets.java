package dev.tranche.extender.preempt;

import dev.tranche.extender.ledger.PodFacts;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** How many pods may go before a PodDisruptionBudget is broken. */
public final class Budgets {
  private final List<Budget> budgets;

  public Budgets(Collection<Budget> budgets) {
    this.budgets = List.copyOf(budgets);
  }

  /**
   * Uids of those that break a budget if they go in this order. One that terminates already breaks
   * none.
   */
  public Set<String> violators(List<PodFacts> going) {
    Map<Budget, Integer> left = new HashMap<>();
    var violators = new HashSet<String>();
    for (PodFacts pod : going) {
      if (pod.standing().leaving()) {
        continue;
      }
      for (Budget budget : budgets) {
        if (budget.covers(pod) && left.merge(budget, -1, (a, b) -> a + b) < -budget.allowed()) {
          violators.add(pod.uid());
        }
      }
    }
    return violators;
  }
}
