package dev.tranche.extender.preempt;

import dev.tranche.extender.snapshot.Turn;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Caches the cluster's PodDisruptionBudgets as the watch last showed them. Confined to the loop.
 *
 * <p>Budgets are their namespaces' own, so all of this is bounded. One that is too large, or one of
 * too many, protects all pods of its namespace instead.
 */
public final class BudgetStore {
  /** Budgets of one namespace that are read. */
  static final int PER_NAMESPACE_MAX = 64;

  /** Characters of one budget's selector and of the pods that it names. */
  static final int BUDGET_CHARS_MAX = 16 << 10;

  /** By namespace and name. */
  private final Map<String, Map<String, Budget>> namespaces = new HashMap<>();

  private boolean listed;

  /** Records that all PodDisruptionBudgets have been listed. */
  public void listed() {
    listed = true;
  }

  public void put(Budget budget) {
    gone(budget.key());
    Map<String, Budget> own =
        namespaces.computeIfAbsent(budget.namespace(), first -> new HashMap<>());
    boolean read = own.size() < PER_NAMESPACE_MAX && budget.chars() <= BUDGET_CHARS_MAX;
    own.put(budget.name(), read ? budget : Budget.protectingAll(budget.namespace(), budget.name()));
  }

  /**
   * @param key {@code namespace/name}
   */
  public void gone(String key) {
    int slash = key.indexOf('/');
    namespaces.computeIfPresent(
        key.substring(0, slash),
        (namespace, own) -> {
          own.remove(key.substring(slash + 1));
          return own.isEmpty() ? null : own;
        });
  }

  /** Returns why the budgets are not known yet; empty once all have been listed. */
  public Optional<String> whyNotReady() {
    return listed
        ? Optional.empty()
        : Optional.of("the extender has not read the cluster's PodDisruptionBudgets yet");
  }

  /** Returns the budgets for one decision, which may take several turns. */
  public Budgets budgets(Turn turn) {
    return new Budgets(this::of, turn);
  }

  private Collection<Budget> of(String namespace) {
    return namespaces.getOrDefault(namespace, Map.of()).values();
  }
}
