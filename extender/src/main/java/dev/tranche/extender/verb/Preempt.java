package dev.tranche.extender.verb;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.preempt.BudgetStore;
import dev.tranche.extender.preempt.Candidates;
import dev.tranche.extender.preempt.NodeVictims;
import dev.tranche.extender.preempt.Victims;
import dev.tranche.extender.preempt.Victims.Candidate;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.state.NominationPlanner;
import dev.tranche.extender.state.ReadinessGate;
import dev.tranche.extender.state.StateWriter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * Whom to evict for a pod, on the nodes where kube-scheduler's dry run would evict. It counts only
 * a node's totals, so victims are chosen anew among all pods of lower priority that hold GPUs. A
 * node where no eviction frees enough is dropped.
 */
public final class Preempt {
  /** The dry run's offer grows with the cluster, and the loop has others to answer. */
  static final int NODES_MAX = 100;

  private static final long DECIDE_MS_MAX = 1_000;

  private final ReadinessGate readiness;
  private final Ledger ledger;
  private final BudgetStore budgets;
  private final NodeEvaluator evaluator;
  private final NominationPlanner nominations;
  private final StateWriter state;
  private final ExtenderMetrics metrics;
  private final LongSupplier clockMs;

  public Preempt(
      ReadinessGate readiness,
      Ledger ledger,
      BudgetStore budgets,
      NodeEvaluator evaluator,
      NominationPlanner nominations,
      StateWriter state,
      ExtenderMetrics metrics,
      LongSupplier clockMs) {
    this.readiness = readiness;
    this.ledger = ledger;
    this.budgets = budgets;
    this.evaluator = evaluator;
    this.nominations = nominations;
    this.state = state;
    this.metrics = metrics;
    this.clockMs = clockMs;
  }

  /**
   * Victims of one node.
   *
   * @param uids never empty in an answer
   */
  public record OfNode(List<String> uids, long violations) {
    public OfNode {
      uids = List.copyOf(uids);
    }
  }

  public sealed interface Answer {
    record Nodes(Map<String, OfNode> victims) implements Answer {}

    /** Nobody may be evicted on what we know. */
    record Undecided(String why) implements Answer {}
  }

  private record Kept(OfNode victims, NodeVictims choice, Placement place) {}

  public Answer preempt(PodFacts pod, Map<String, OfNode> offered) {
    Optional<String> notReady =
        readiness.notDeciding().or(readiness::awaitingFirstReports).or(budgets::unread);
    if (notReady.isPresent()) {
      return new Answer.Undecided(notReady.get());
    }
    nominations.planAll();
    var kept = new LinkedHashMap<String, Kept>();
    long untilMs = clockMs.getAsLong() + DECIDE_MS_MAX;
    for (String node : leastHarmFirst(offered)) {
      if (clockMs.getAsLong() <= untilMs) {
        keep(pod, node, offered.getOrDefault(node, new OfNode(List.of(), 0)), kept);
      }
    }
    metrics.preempted(kept.size(), offered.size() - kept.size());
    nominate(pod, kept);
    var victims = new LinkedHashMap<String, OfNode>();
    kept.forEach((node, of) -> victims.put(node, of.victims()));
    return new Answer.Nodes(victims);
  }

  private static List<String> leastHarmFirst(Map<String, OfNode> offered) {
    return offered.entrySet().stream()
        .sorted(
            Comparator.comparingLong((Map.Entry<String, OfNode> e) -> e.getValue().violations())
                .thenComparingInt(e -> e.getValue().uids().size()))
        .limit(NODES_MAX)
        .map(Map.Entry::getKey)
        .toList();
  }

  private void keep(PodFacts pod, String node, OfNode offered, Map<String, Kept> kept) {
    List<Candidate> candidates = Candidates.of(ledger, pod, node, clockMs.getAsLong());
    Set<String> dryRun = Set.copyOf(offered.uids());
    var search =
        new Victims(
            budgets.budgets(),
            gone -> evaluator.evaluateWithout(pod, node, gone).placement().isPresent());
    Optional<Hold> held = heldOn(node, pod);
    Optional<NodeVictims> choice =
        held.flatMap(hold -> search.choose(onGpusOf(hold, candidates), dryRun))
            .or(() -> search.choose(candidates, dryRun));
    if (choice.isEmpty()) {
      return;
    }
    OfNode victims = victims(choice.get(), candidates, offered, held.isPresent());
    Optional<Placement> place =
        evaluator.evaluateWithout(pod, node, new HashSet<>(victims.uids())).placement();
    if (place.isPresent() && !victims.uids().isEmpty()) {
      kept.put(node, new Kept(victims, choice.get(), place.get()));
    }
  }

  /** Since others were told to go for the pod. */
  private Optional<Hold> heldOn(String node, PodFacts pod) {
    return ledger
        .hold(pod.uid())
        .filter(hold -> hold.node().equals(node) && ledger.nominated(pod.uid()));
  }

  /**
   * kube-scheduler may ask again before it sees that they go, and offer others of the same worth:
   * as long as these GPUs can be freed, nobody on another is evicted, too.
   */
  private static List<Candidate> onGpusOf(Hold hold, List<Candidate> candidates) {
    return candidates.stream()
        .filter(each -> !Collections.disjoint(each.held().keySet(), hold.held().keySet()))
        .toList();
  }

  /**
   * Those that hold GPUs as chosen, the most important first, and the others as offered: what they
   * free, such as CPU, is not ours to judge. If no GPU holder need go, the offer stands.
   *
   * @param freed a GPU of the node is held for the pod since others were evicted for it.
   *     kube-scheduler may see later than we do that they are gone: what it would evict besides,
   *     for the same GPU, stays.
   */
  private static OfNode victims(
      NodeVictims choice, List<Candidate> candidates, OfNode offered, boolean freed) {
    if (choice.victims().isEmpty() && !freed) {
      return offered;
    }
    var ours = new HashSet<String>();
    candidates.forEach(c -> ours.add(c.pod().uid()));
    List<String> others = offered.uids().stream().filter(uid -> !ours.contains(uid)).toList();
    var uids = new ArrayList<>(choice.victims().stream().map(PodFacts::uid).toList());
    uids.addAll(others);
    return new OfNode(uids, choice.violations() + Math.min(others.size(), offered.violations()));
  }

  /** Holds the GPU where kube-scheduler will probably nominate the pod; it chooses as we do. */
  private void nominate(PodFacts pod, Map<String, Kept> kept) {
    var places = new LinkedHashMap<String, Placement>();
    kept.forEach((node, of) -> places.put(node, of.place()));
    kept.entrySet().stream()
        .min(
            Map.Entry.comparingByValue(
                Comparator.comparing(Kept::choice, NodeVictims.BETTER_FIRST)))
        .ifPresent(best -> state.apply(new Event.Nominate(pod, places, best.getKey())));
    nominations.planned(pod.uid());
  }
}
