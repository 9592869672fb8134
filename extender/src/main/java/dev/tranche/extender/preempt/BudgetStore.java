package dev.tranche.extender.preempt;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Caches the cluster's PodDisruptionBudgets as the watch last showed them. Confined to the loop.
 */
public final class BudgetStore {
  /** By namespace and name. */
  private final Map<String, Budget> budgets = new HashMap<>();

  private boolean listed;

  /** Records that all PodDisruptionBudgets have been listed. */
  public void listed() {
    listed = true;
  }

  public void put(Budget budget) {
    budgets.put(budget.key(), budget);
  }

  /**
   * @param key {@code namespace/name}
   */
  public void gone(String key) {
    budgets.remove(key);
  }

  /** Returns why the budgets are not known yet; empty once all have been listed. */
  public Optional<String> whyNotReady() {
    return listed
        ? Optional.empty()
        : Optional.of("the extender has not read the cluster's PodDisruptionBudgets yet");
  }

  /** Returns a snapshot for one decision. */
  public Budgets budgets() {
    return new Budgets(budgets.values());
  }
}
