package dev.tranche.extender.preempt;

import dev.tranche.extender.snapshot.Turn;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Caches the cluster's PodDisruptionBudgets as the watch last showed them. Confined to the loop.
 *
 * <p>Budgets are their namespaces' own, so all of this is bounded. A budget beyond a bound is not
 * read: all pods of its namespace count as protected instead.
 */
public final class BudgetStore {
  /** Budgets of one namespace that are read. */
  static final int PER_NAMESPACE_MAX = 64;

  /** Characters of one budget's selector and of the pods that it names. */
  static final int BUDGET_CHARS_MAX = 16 << 10;

  /** Characters of all budgets. */
  static final int CHARS_MAX = 4 << 20;

  /** Budgets whose names are kept. */
  static final int COUNT_MAX = 20_000;

  private final Map<String, Namespace> namespaces = new HashMap<>();

  /** Namespaces with a budget that is not even kept by name. They stay until the process ends. */
  private final Set<String> beyond = new HashSet<>();

  private int count;
  private int chars;

  /** Read on another thread. */
  private final AtomicInteger unread = new AtomicInteger();

  private boolean listed;

  /** The budgets of one namespace. */
  private static final class Namespace {
    /** By name. */
    final Map<String, Budget> read = new HashMap<>();

    /** Names of those that are not read. */
    final Set<String> unread = new HashSet<>();

    Collection<Budget> all(String name) {
      if (unread.isEmpty()) {
        return read.values();
      }
      var all = new ArrayList<>(read.values());
      all.add(Budget.protectingAll(name, ""));
      return all;
    }
  }

  /** Records that all PodDisruptionBudgets have been listed. */
  public void listed() {
    listed = true;
  }

  public void put(Budget budget) {
    gone(budget.namespace(), budget.name());
    if (count >= COUNT_MAX) {
      unread.addAndGet(beyond.add(budget.namespace()) ? 1 : 0);
      return;
    }
    count++;
    var namespace = namespaces.computeIfAbsent(budget.namespace(), first -> new Namespace());
    int own = budget.chars();
    if (namespace.read.size() < PER_NAMESPACE_MAX
        && own <= BUDGET_CHARS_MAX
        && chars + own <= CHARS_MAX) {
      chars += own;
      namespace.read.put(budget.name(), budget);
    } else {
      namespace.unread.add(budget.name());
      unread.incrementAndGet();
    }
  }

  /**
   * @param key {@code namespace/name}
   */
  public void gone(String key) {
    int slash = key.indexOf('/');
    gone(key.substring(0, slash), key.substring(slash + 1));
  }

  private void gone(String namespace, String name) {
    Namespace of = namespaces.get(namespace);
    if (of == null) {
      return;
    }
    @Nullable Budget before = of.read.remove(name);
    if (before != null) {
      count--;
      chars -= before.chars();
    } else if (of.unread.remove(name)) {
      count--;
      unread.decrementAndGet();
    }
    if (of.read.isEmpty() && of.unread.isEmpty()) {
      namespaces.remove(namespace);
    }
  }

  /** Returns the number of budgets that are not read; their namespaces' pods are protected. */
  public int unread() {
    return unread.get();
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

  private Collection<Budget> of(String name) {
    if (beyond.contains(name)) {
      return List.of(Budget.protectingAll(name, ""));
    }
    Namespace namespace = namespaces.get(name);
    return namespace == null ? List.of() : namespace.all(name);
  }
}
