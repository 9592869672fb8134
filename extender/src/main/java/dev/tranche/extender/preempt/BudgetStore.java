package dev.tranche.extender.preempt;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The cluster's PodDisruptionBudgets, as last watched. Confined to the loop. */
public final class BudgetStore {
  /** By namespace and name. */
  private final Map<String, Budget> budgets = new HashMap<>();

  private boolean listed;

  /** All PodDisruptionBudgets have been shown once. */
  public void listed() {
    listed = true;
  }

  public void seen(Budget budget) {
    budgets.put(budget.key(), budget);
  }

  /**
   * @param key {@code namespace/name}
   */
  public void gone(String key) {
    budgets.remove(key);
  }

  /** A sentence until all have been shown once. */
  public Optional<String> unread() {
    return listed
        ? Optional.empty()
        : Optional.of("the extender has not read the cluster's PodDisruptionBudgets yet");
  }

  /** For one decision. */
  public Budgets budgets() {
    return new Budgets(budgets.values());
  }
}
