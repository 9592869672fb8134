package dev.tranche.extender.preempt;

import dev.tranche.extender.ledger.PodFacts;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Chooses which pods to evict from one node so that a pod gets its GPUs there. kube-scheduler's dry
 * run knows only the node's totals. Its victims may free a little on many GPUs, and too little on
 * each.
 *
 * @param bound holds wherever {@code fitsWithout} does, and costs little
 * @param fitsWithout whether the pod fits when the pods of these uids are gone. It fits without
 *     more pods, too
 */
public record Victims(Budgets budgets, Bound bound, Predicate<Set<String>> fitsWithout) {

  /** A condition on the pods that go, which is checked again after each pod. */
  public interface Bound {
    /** A condition that always holds. */
    Bound NONE = new Bound() {};

    /** No pod goes. */
    default void reset() {}

    /**
     * @param sign 1 if the pod goes; -1 if it is spared after all
     */
    default void count(Candidate candidate, int sign) {}

    default boolean mayFit() {
      return true;
    }
  }

  /**
   * A pod that may be evicted.
   *
   * @param held replicas per uuid, in the R that each GPU is split into now
   */
  public record Candidate(PodFacts pod, Map<String, Integer> held) {
    private int replicas() {
      return held.values().stream().mapToInt(Integer::intValue).sum();
    }
  }

  /**
   * Pods among which victims are sought.
   *
   * @param pods the costliest first
   * @param least the victims if only the bound counted. The real ones are hardly ever cheaper
   */
  private record Group(List<Candidate> pods, NodeVictims least) {}

  /**
   * Returns the best choice among the victims on each single GPU and, for a pod that needs several
   * GPUs, the victims on any. Empty if no eviction helps; without victims if none is needed.
   *
   * <p>The search is greedy: it spares one pod after the other, the costliest first. So it finds
   * victims none of whom can be spared, but others may violate fewer budgets in sum.
   *
   * @param offered candidates that the dry run chose. Among choices that cost the same, they are
   *     taken
   */
  public Optional<NodeVictims> choose(List<Candidate> candidates, List<Candidate> offered) {
    if (fitsWithout.test(Set.of())) {
      return Optional.of(new NodeVictims(List.of(), 0));
    }
    @Nullable NodeVictims best = null;
    List<Group> groups = groups(candidates, offered);
    while (!groups.isEmpty()) {
      Group cheapest =
          Collections.min(groups, Comparator.comparing(Group::least, NodeVictims.BETTER_FIRST));
      if (best != null && NodeVictims.BETTER_FIRST.compare(best, cheapest.least()) <= 0) {
        break;
      }
      groups.remove(cheapest);
      NodeVictims found = find(cheapest).orElse(null);
      if (found != null && (best == null || NodeVictims.BETTER_FIRST.compare(found, best) < 0)) {
        best = found;
      }
    }
    return Optional.ofNullable(best);
  }

  private List<Group> groups(List<Candidate> candidates, List<Candidate> offered) {
    var uuids = new TreeSet<String>();
    candidates.forEach(c -> uuids.addAll(c.held().keySet()));
    var all = new LinkedHashSet<>(candidates);
    all.addAll(offered);
    List<Candidate> ordered = costliestFirst(all);
    Set<String> proposed = uids(offered.stream().map(Candidate::pod).toList());
    var groups = new ArrayList<Group>();
    addGroup(groups, ordered.stream().filter(c -> proposed.contains(c.pod().uid())).toList());
    for (String uuid : uuids) {
      addGroup(
          groups,
          ordered.stream()
              .filter(c -> c.held().containsKey(uuid) || proposed.contains(c.pod().uid()))
              .toList());
    }
    addGroup(groups, ordered);
    return groups;
  }

  private void addGroup(List<Group> groups, List<Candidate> pods) {
    bound.reset();
    pods.forEach(pod -> bound.count(pod, 1));
    if (!bound.mayFit()) {
      return;
    }
    var gone = new ArrayList<PodFacts>();
    for (Candidate pod : pods) {
      bound.count(pod, -1);
      if (!bound.mayFit()) {
        bound.count(pod, 1);
        gone.add(pod.pod());
      }
    }
    groups.add(new Group(pods, budgets.choice(gone)));
  }

  private Optional<NodeVictims> find(Group group) {
    return fitsWithout.test(uids(group.least().victims()))
        ? Optional.of(group.least())
        : find(group.pods());
  }

  /** Starts with all pods and spares each one that need not go, the costliest first. */
  private Optional<NodeVictims> find(List<Candidate> pods) {
    Set<String> gone = uids(pods.stream().map(Candidate::pod).toList());
    if (!fitsWithout.test(gone)) {
      return Optional.empty();
    }
    List<String> order = pods.stream().map(c -> c.pod().uid()).toList();
    int next = 0;
    while (next < order.size()) {
      int spared = sparedFrom(order, next, gone);
      order.subList(next, next + spared).forEach(gone::remove);
      // The one after them must go.
      next += spared + 1;
    }
    return Optional.of(
        budgets.choice(
            pods.stream().map(Candidate::pod).filter(p -> gone.contains(p.uid())).toList()));
  }

  /**
   * Returns how many pods in a row can be spared. It tries ever longer rows, then bisects: most
   * pods of a node can be spared.
   */
  private int sparedFrom(List<String> order, int from, Set<String> gone) {
    int left = order.size() - from;
    int fit = 0;
    int tooMany = left + 1;
    for (int row = 1; row < tooMany; row = Math.min(2 * row, left)) {
      if (!fitsWithout.test(without(gone, order.subList(from, from + row)))) {
        tooMany = row;
      } else {
        fit = row;
        if (row == left) {
          return left;
        }
      }
    }
    while (fit + 1 < tooMany) {
      int middle = (fit + tooMany) / 2;
      if (fitsWithout.test(without(gone, order.subList(from, from + middle)))) {
        fit = middle;
      } else {
        tooMany = middle;
      }
    }
    return fit;
  }

  private static Set<String> without(Set<String> gone, List<String> spared) {
    var fewer = new HashSet<>(gone);
    spared.forEach(fewer::remove);
    return fewer;
  }

  private List<Candidate> costliestFirst(Collection<Candidate> candidates) {
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

  private static Set<String> uids(List<PodFacts> pods) {
    return pods.stream().map(PodFacts::uid).collect(Collectors.toCollection(HashSet::new));
  }
}
