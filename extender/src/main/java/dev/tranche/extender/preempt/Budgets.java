package dev.tranche.extender.preempt;

import dev.tranche.extender.ledger.PodFacts;
import java.util.Collection;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Determines which evictions violate a PodDisruptionBudget. */
public final class Budgets {
  private final Function<String, Collection<Budget>> ofNamespace;

  public Budgets(Collection<Budget> budgets) {
    Map<String, List<Budget>> byNamespace =
        budgets.stream().collect(Collectors.groupingBy(Budget::namespace));
    this.ofNamespace = namespace -> byNamespace.getOrDefault(namespace, List.of());
  }

  /**
   * @param ofNamespace the budgets of a namespace; valid for one decision
   */
  Budgets(Function<String, Collection<Budget>> ofNamespace) {
    this.ofNamespace = ofNamespace;
  }

  /**
   * Returns the uids of the pods that violate a budget if they are evicted in this order. A pod
   * that is already terminating violates none.
   */
  public Set<String> violators(List<PodFacts> evicted) {
    // By identity: a budget's selector may be long, and is the same object throughout a decision.
    var left = new IdentityHashMap<Budget, Integer>();
    var violators = new HashSet<String>();
    for (PodFacts pod : evicted) {
      if (pod.preemption().terminating()) {
        continue;
      }
      for (Budget budget : ofNamespace.apply(pod.namespace())) {
        if (budget.covers(pod) && left.merge(budget, -1, (a, b) -> a + b) < -budget.allowed()) {
          violators.add(pod.uid());
        }
      }
    }
    return violators;
  }

  /** Returns these victims with the number of violations if the least important goes first. */
  public NodeVictims choice(List<PodFacts> victims) {
    List<PodFacts> leastFirst =
        victims.stream().sorted(NodeVictims.MOST_IMPORTANT_FIRST.reversed()).toList();
    return new NodeVictims(victims, violators(leastFirst).size());
  }
}
