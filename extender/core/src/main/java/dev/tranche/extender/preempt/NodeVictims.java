package dev.tranche.extender.preempt;

import dev.tranche.extender.ledger.PodFacts;
import java.util.Comparator;
import java.util.List;

/**
 * The pods to evict from one node.
 *
 * @param victims the most important first, as kube-scheduler expects
 * @param violations number of violations of PodDisruptionBudgets
 */
public record NodeVictims(List<PodFacts> victims, long violations) {
  static final Comparator<PodFacts> MOST_IMPORTANT_FIRST =
      Comparator.<PodFacts>comparingInt(pod -> -pod.preemption().priority())
          .thenComparingLong(pod -> pod.preemption().startedAtMs());

  /**
   * Orders choices by kube-scheduler's criteria, the better first: fewest violations, then the
   * lowest priorities, then the fewest pods, then the youngest. A pod that is already terminating
   * costs nothing.
   */
  public static final Comparator<NodeVictims> BETTER_FIRST =
      Comparator.comparingLong(NodeVictims::violations)
          .thenComparingInt(NodeVictims::highestPriority)
          .thenComparingLong(NodeVictims::sumOfPriorities)
          .thenComparingInt(choice -> choice.costly().size())
          .thenComparing(NodeVictims::earliestStartMs, Comparator.reverseOrder());

  public NodeVictims {
    victims = victims.stream().sorted(MOST_IMPORTANT_FIRST).toList();
  }

  private List<PodFacts> costly() {
    return victims.stream().filter(pod -> !pod.preemption().terminating()).toList();
  }

  private int highestPriority() {
    return costly().stream()
        .mapToInt(pod -> pod.preemption().priority())
        .max()
        .orElse(Integer.MIN_VALUE);
  }

  /**
   * Returns the sum of priorities, each counted from the lowest possible one, so that more pods
   * never sum up to less.
   */
  private long sumOfPriorities() {
    return costly().stream()
        .mapToLong(pod -> (long) pod.preemption().priority() - Integer.MIN_VALUE + 1)
        .sum();
  }

  /** Returns the earliest start among the victims of the highest priority. */
  private long earliestStartMs() {
    int highest = highestPriority();
    return costly().stream()
        .filter(pod -> pod.preemption().priority() == highest)
        .mapToLong(pod -> pod.preemption().startedAtMs())
        .min()
        .orElse(Long.MAX_VALUE);
  }
}
