package dev.tranche.extender.preempt;

import dev.tranche.extender.ledger.PodFacts;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Chooses which pods to evict from one node so that a pod gets its GPUs there. kube-scheduler's dry
 * run knows only the node's totals. Its victims may free a little on many GPUs, and too little on
 * each.
 */
public final class Victims {
  private final Budgets budgets;
  private final Predicate<Set<String>> fitsWithout;

  /**
   * @param fitsWithout whether the pod fits when the pods of these uids are gone
   */
  public Victims(Budgets budgets, Predicate<Set<String>> fitsWithout) {
    this.budgets = budgets;
    this.fitsWithout = fitsWithout;
  }

  /**
   * A pod that may be evicted.
   *
   * @param held replicas per uuid
   */
  public record Candidate(PodFacts pod, Map<String, Integer> held) {
    public Candidate {
      held = Map.copyOf(held);
    }

    private int replicas() {
      return held.values().stream().mapToInt(Integer::intValue).sum();
    }
  }

  /**
   * Returns the best choice among the victims on each single GPU and, for a pod that needs several
   * GPUs, the victims on any. Empty if no eviction helps; without victims if none is needed.
   *
   * @param offered uids that the dry run chose. They also make the pod fit in other respects, so
   *     they are taken unless others are better
   */
  public Optional<NodeVictims> choose(List<Candidate> candidates, Set<String> offered) {
    if (fitsWithout.test(Set.of())) {
      return Optional.of(new NodeVictims(List.of(), 0));
    }
    var uuids = new TreeSet<String>();
    candidates.forEach(c -> uuids.addAll(c.held().keySet()));
    Stream<Optional<NodeVictims>> perGpu =
        uuids.stream()
            .map(uuid -> candidates.stream().filter(c -> c.held().containsKey(uuid)).toList())
            .map(this::fewest);
    Stream<Optional<NodeVictims>> others = Stream.concat(perGpu, Stream.of(fewest(candidates)));
    return Stream.concat(Stream.of(asOffered(candidates, offered)), others)
        .flatMap(Optional::stream)
        .reduce((a, b) -> NodeVictims.BETTER_FIRST.compare(a, b) <= 0 ? a : b);
  }

  private Optional<NodeVictims> asOffered(List<Candidate> candidates, Set<String> offered) {
    List<PodFacts> pods =
        candidates.stream().map(Candidate::pod).filter(p -> offered.contains(p.uid())).toList();
    return fitsWithout.test(uids(pods)) ? Optional.of(choice(pods)) : Optional.empty();
  }

  /** Starts with all candidates and spares each one that need not go, the most expensive first. */
  private Optional<NodeVictims> fewest(List<Candidate> candidates) {
    Set<String> gone = uids(candidates.stream().map(Candidate::pod).toList());
    if (!fitsWithout.test(gone)) {
      return Optional.empty();
    }
    for (Candidate candidate : costliestFirst(candidates)) {
      String uid = candidate.pod().uid();
      gone.remove(uid);
      if (!fitsWithout.test(gone)) {
        gone.add(uid);
      }
    }
    return Optional.of(
        choice(
            candidates.stream().map(Candidate::pod).filter(p -> gone.contains(p.uid())).toList()));
  }

  private List<Candidate> costliestFirst(List<Candidate> candidates) {
    // Among equals, the smaller pod is spared first, so that fewer are evicted, then the older one.
    Comparator<Candidate> byCost =
        Comparator.<Candidate, Boolean>comparing(c -> c.pod().preemption().terminating())
            .thenComparingInt(c -> -c.pod().preemption().priority())
            .thenComparingInt(Candidate::replicas)
            .thenComparingLong(c -> c.pod().preemption().startedAtMs());
    var ordered = new ArrayList<>(candidates.stream().sorted(byCost).toList());
    Set<String> violators =
        budgets.violators(ordered.reversed().stream().map(Candidate::pod).toList());
    ordered.sort(Comparator.comparing(c -> !violators.contains(c.pod().uid())));
    return ordered;
  }

  private NodeVictims choice(List<PodFacts> pods) {
    List<PodFacts> leastFirst =
        pods.stream().sorted(NodeVictims.MOST_IMPORTANT_FIRST.reversed()).toList();
    return new NodeVictims(pods, budgets.violators(leastFirst).size());
  }

  private static Set<String> uids(List<PodFacts> pods) {
    return pods.stream().map(PodFacts::uid).collect(Collectors.toCollection(HashSet::new));
  }
}
