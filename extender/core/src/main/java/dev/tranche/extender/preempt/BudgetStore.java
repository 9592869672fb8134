package dev.tranche.extender.preempt;

import dev.tranche.extender.snapshot.Turn;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Caches the cluster's PodDisruptionBudgets as the watch last showed them. Confined to the loop.
 *
 * <p>Budgets are their namespaces' own, so few are read. Of one that is too large, or one of too
 * many, only the name is kept: it protects all pods of its namespace instead.
 */
public final class BudgetStore {
  /** Budgets of one namespace that are read. */
  static final int PER_NAMESPACE_MAX = 64;

  /** Labels and values of one budget's selector, and the pods that it names. */
  static final int ENTRIES_MAX = 256;

  private final Map<String, Namespace> namespaces = new HashMap<>();

  private boolean listed;

  /** The budgets of one namespace, by name. */
  private record Namespace(Map<String, Budget> read, Set<String> unread) {}

  /** Records that all PodDisruptionBudgets have been listed. */
  public void listed() {
    listed = true;
  }

  public void put(Budget budget) {
    gone(budget.key());
    Namespace own =
        namespaces.computeIfAbsent(
            budget.namespace(), first -> new Namespace(new HashMap<>(), new HashSet<>()));
    if (own.read.size() < PER_NAMESPACE_MAX && fits(budget)) {
      own.read.put(budget.name(), budget);
    } else {
      own.unread.add(budget.name());
    }
  }

  /** Whoever may write a budget's status names pods there, at any length. */
  private static boolean fits(Budget budget) {
    return budget.entries() <= ENTRIES_MAX && !budget.hasLongText();
  }

  /**
   * @param key {@code namespace/name}
   */
  public void gone(String key) {
    int slash = key.indexOf('/');
    namespaces.computeIfPresent(
        key.substring(0, slash),
        (namespace, own) -> {
          own.read.remove(key.substring(slash + 1));
          own.unread.remove(key.substring(slash + 1));
          return own.read.isEmpty() && own.unread.isEmpty() ? null : own;
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
    Namespace own = namespaces.get(namespace);
    if (own == null) {
      return List.of();
    }
    return own.unread.isEmpty() ? own.read.values() : List.of(Budget.protectingAll(namespace));
  }
}
