package dev.tranche.extender.cluster;

import dev.tranche.extender.preempt.Budget;

/** A PodDisruptionBudget. */
record BudgetShown(String uid, String resourceVersion, Budget budget) implements Shown {
  @Override
  public String key() {
    return budget.key();
  }

  @Override
  public boolean matters() {
    return true;
  }
}
