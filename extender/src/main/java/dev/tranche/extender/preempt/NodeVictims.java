package dev.tranche.extender.preempt;

import dev.tranche.extender.ledger.PodFacts;
import java.util.Comparator;
import java.util.List;

/**
 * Pods that go from one node.
 *
 * @param victims the most important first, as kube-scheduler expects
 * @param violations of PodDisruptionBudgets
 */
public record NodeVictims(List<PodFacts> victims, long violations) {
  static final Comparator<PodFacts> MOST_IMPORTANT_FIRST =
      Comparator.<PodFacts>comparingInt(pod -> -pod.standing().priority())
          .thenComparingLong(pod -> pod.standing().startedAtMs());

  /**
   * kube-scheduler's criteria, the better first: fewest violations, then the lowest priorities,
   * then the fewest pods, then the youngest. A pod that terminates already costs nothing.
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
    return victims.stream().filter(pod -> !pod.standing().leaving()).toList();
  }

  private int highestPriority() {
    return costly().stream()
        .mapToInt(pod -> pod.standing().priority())
        .max()
        .orElse(Integer.MIN_VALUE);
  }

  /** Each counted from the lowest there is, so that more pods never sum up to less. */
  private long sumOfPriorities() {
    return costly().stream()
        .mapToLong(pod -> (long) pod.standing().priority() - Integer.MIN_VALUE + 1)
        .sum();
  }

  /** Of those of the highest priority. */
  private long earliestStartMs() {
    int highest = highestPriority();
    return costly().stream()
        .filter(pod -> pod.standing().priority() == highest)
        .mapToLong(pod -> pod.standing().startedAtMs())
        .min()
        .orElse(Long.MAX_VALUE);
  }
}
