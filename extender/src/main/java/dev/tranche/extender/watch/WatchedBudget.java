package dev.tranche.extender.watch;

import dev.tranche.extender.preempt.Budget;

/** A PodDisruptionBudget. */
public record WatchedBudget(String uid, String resourceVersion, Budget budget)
    implements WatchedObject {
  @Override
  public String key() {
    return budget.key();
  }

  @Override
  public boolean tracked() {
    return true;
  }
}
