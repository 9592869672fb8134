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
 * Chooses which pods to evict for a pod, on the nodes that kube-scheduler's dry run proposes. The
 * dry run counts only a node's totals, so victims are chosen anew among all pods of lower priority
 * that hold GPUs. A node where no eviction frees enough is dropped.
 */
public final class Preempt {
  /**
   * The most nodes to evaluate. The dry run proposes more in a larger cluster, and other requests
   * wait for the loop.
   */
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
  public record VictimUids(List<String> uids, long violations) {
    public VictimUids {
      uids = List.copyOf(uids);
    }
  }

  public sealed interface Answer {
    record Nodes(Map<String, VictimUids> victims) implements Answer {}

    /** Too little is known to evict anyone. */
    record Undecided(String why) implements Answer {}
  }

  private record NodePlan(VictimUids victims, NodeVictims choice, Placement place) {}

  public Answer preempt(PodFacts pod, Map<String, VictimUids> offered) {
    Optional<String> notReady =
        readiness.notDeciding().or(readiness::awaitingFirstReports).or(budgets::whyNotReady);
    if (notReady.isPresent()) {
      return new Answer.Undecided(notReady.get());
    }
    nominations.planAll();
    var plans = new LinkedHashMap<String, NodePlan>();
    long untilMs = clockMs.getAsLong() + DECIDE_MS_MAX;
    for (String node : leastHarmFirst(offered)) {
      if (clockMs.getAsLong() <= untilMs) {
        planNode(pod, node, offered.getOrDefault(node, new VictimUids(List.of(), 0)), plans);
      }
    }
    metrics.preempted(plans.size(), offered.size() - plans.size());
    nominate(pod, plans);
    var victims = new LinkedHashMap<String, VictimUids>();
    plans.forEach((node, of) -> victims.put(node, of.victims()));
    return new Answer.Nodes(victims);
  }

  private static List<String> leastHarmFirst(Map<String, VictimUids> offered) {
    return offered.entrySet().stream()
        .sorted(
            Comparator.comparingLong((Map.Entry<String, VictimUids> e) -> e.getValue().violations())
                .thenComparingInt(e -> e.getValue().uids().size()))
        .limit(NODES_MAX)
        .map(Map.Entry::getKey)
        .toList();
  }

  private void planNode(
      PodFacts pod, String node, VictimUids offered, Map<String, NodePlan> plans) {
    List<Candidate> candidates = Candidates.of(ledger, pod, node, clockMs.getAsLong());
    Set<String> dryRun = Set.copyOf(offered.uids());
    var search =
        new Victims(
            budgets.budgets(),
            gone -> evaluator.evaluateWithout(pod, node, gone).placement().isPresent());
    Optional<Hold> held = heldOn(node, pod);
    Optional<NodeVictims> choice =
        held.flatMap(hold -> search.choose(candidatesOnHeldGpus(hold, candidates), dryRun))
            .or(() -> search.choose(candidates, dryRun));
    if (choice.isEmpty()) {
      return;
    }
    VictimUids victims = victims(choice.get(), candidates, offered, held.isPresent());
    Optional<Placement> place =
        evaluator.evaluateWithout(pod, node, new HashSet<>(victims.uids())).placement();
    if (place.isPresent() && !victims.uids().isEmpty()) {
      plans.put(node, new NodePlan(victims, choice.get(), place.get()));
    }
  }

  /**
   * Returns the pod's hold on the node, if it's nominated: victims were already chosen for it
   * there.
   */
  private Optional<Hold> heldOn(String node, PodFacts pod) {
    return ledger
        .hold(pod.uid())
        .filter(hold -> hold.node().equals(node) && ledger.nominated(pod.uid()));
  }

  /**
   * Returns the candidates on the GPUs that are already held for the pod. kube-scheduler may ask
   * again before it sees the first victims terminate, and may propose other victims of equal rank.
   * While these GPUs can be freed, no pod on another GPU is evicted too.
   */
  private static List<Candidate> candidatesOnHeldGpus(Hold hold, List<Candidate> candidates) {
    return candidates.stream()
        .filter(each -> !Collections.disjoint(each.held().keySet(), hold.held().keySet()))
        .toList();
  }

  /**
   * Merges our victims with those of the dry run. Pods that hold GPUs are taken as chosen here, the
   * most important first. Other pods are kept as proposed: what they free, such as CPU, is not
   * judged here. If no pod that holds a GPU need go, the proposal is returned unchanged.
   *
   * @param freed a GPU of the node is held for the pod, since others were evicted for it.
   *     kube-scheduler may learn later than we do that they are gone. Pods that it would evict in
   *     addition for the same GPU are not evicted.
   */
  private static VictimUids victims(
      NodeVictims choice, List<Candidate> candidates, VictimUids offered, boolean freed) {
    if (choice.victims().isEmpty() && !freed) {
      return offered;
    }
    var ours = new HashSet<String>();
    candidates.forEach(c -> ours.add(c.pod().uid()));
    List<String> others = offered.uids().stream().filter(uid -> !ours.contains(uid)).toList();
    var uids = new ArrayList<>(choice.victims().stream().map(PodFacts::uid).toList());
    uids.addAll(others);
    long violations = choice.violations() + Math.min(others.size(), offered.violations());
    return new VictimUids(uids, violations);
  }

  /**
   * Holds the GPU on the node that kube-scheduler will probably nominate; it ranks nodes by the
   * same criteria.
   */
  private void nominate(PodFacts pod, Map<String, NodePlan> plans) {
    var places = new LinkedHashMap<String, Placement>();
    plans.forEach((node, of) -> places.put(node, of.place()));
    plans.entrySet().stream()
        .min(
            Map.Entry.comparingByValue(
                Comparator.comparing(NodePlan::choice, NodeVictims.BETTER_FIRST)))
        .ifPresent(best -> state.apply(new Event.Nominate(pod, places, best.getKey())));
    nominations.planned(pod.uid());
  }
}
