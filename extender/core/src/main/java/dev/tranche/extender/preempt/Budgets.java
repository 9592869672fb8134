package dev.tranche.extender.preempt;

import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.snapshot.Turn;
import java.util.Collection;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.function.Function;

/**
 * Determines which evictions violate a PodDisruptionBudget. It remembers which budgets cover a pod,
 * so it is valid for one decision. Confined to the loop.
 */
public final class Budgets {
  private final Function<String, Collection<Budget>> ofNamespace;
  private final Turn turn;

  /** By identity: a pod that has changed is another object. */
  private final IdentityHashMap<PodFacts, List<Budget>> covering = new IdentityHashMap<>();

  /**
   * @param ofNamespace the budgets of a namespace
   */
  Budgets(Function<String, Collection<Budget>> ofNamespace, Turn turn) {
    this.ofNamespace = ofNamespace;
    this.turn = turn;
  }

  /**
   * Returns the uids of the pods that violate a budget if they are evicted in this order. A pod
   * that is already terminating violates none.
   *
   * @throws Turn.Over if the turn is over before all pods were compared with their budgets
   */
  public Set<String> violators(List<PodFacts> evicted) {
    // By identity: a budget's selector may be long, and is the same object throughout a decision.
    var left = new IdentityHashMap<Budget, Integer>();
    var violators = new HashSet<String>();
    for (PodFacts pod : evicted) {
      if (pod.preemption().terminating()) {
        continue;
      }
      for (Budget budget : covering(pod)) {
        if (left.merge(budget, -1, (a, b) -> a + b) < -budget.allowed()) {
          violators.add(pod.uid());
        }
      }
    }
    return violators;
  }

  private List<Budget> covering(PodFacts pod) {
    List<Budget> known = covering.get(pod);
    if (known != null) {
      return known;
    }
    Collection<Budget> budgets = ofNamespace.apply(pod.namespace());
    if (budgets.isEmpty()) {
      return List.of();
    }
    turn.step();
    List<Budget> found = budgets.stream().filter(budget -> budget.covers(pod)).toList();
    turn.spent(budgets.stream().mapToLong(budget -> 1L + budget.entries()).sum());
    covering.put(pod, found);
    return found;
  }

  /** Returns these victims with the number of violations if the least important goes first. */
  public NodeVictims choice(List<PodFacts> victims) {
    List<PodFacts> leastFirst =
        victims.stream().sorted(NodeVictims.MOST_IMPORTANT_FIRST.reversed()).toList();
    return new NodeVictims(victims, violators(leastFirst).size());
  }
}
