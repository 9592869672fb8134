package dev.tranche.extender.state;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.preempt.BudgetStore;
import dev.tranche.extender.preempt.Candidates;
import dev.tranche.extender.preempt.ReplicaBound;
import dev.tranche.extender.preempt.Victims;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.state.NominatedPods.Nominee;
import dev.tranche.extender.state.NominatedPods.Tried;
import dev.tranche.extender.state.NominatedPods.Unplanned;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/**
 * Holds GPUs for pods whose nomination another extender replica has planned. That replica may be
 * gone, but its victims still terminate. Pods of lower priority must not get what the victims free.
 * The plan is made anew from what the API server shows: the nomination, and the terminating pods on
 * that node.
 */
public final class NominationPlanner {
  /**
   * The longest time that one filter spends on other pods' plans; it must answer for its own pod in
   * time.
   */
  private static final long PLAN_MS_MAX = 50;

  private final NominatedPods nominees;
  private final Ledger ledger;
  private final LoadCache loads;
  private final NodeEvaluator evaluator;
  private final BudgetStore budgets;
  private final StateWriter state;
  private final LongSupplier clockMs;

  public NominationPlanner(
      NominatedPods nominees,
      Ledger ledger,
      LoadCache loads,
      NodeEvaluator evaluator,
      BudgetStore budgets,
      StateWriter state,
      LongSupplier clockMs) {
    this.nominees = nominees;
    this.ledger = ledger;
    this.loads = loads;
    this.evaluator = evaluator;
    this.budgets = budgets;
    this.state = state;
    this.clockMs = clockMs;
  }

  /**
   * Holds GPUs for nominated pods, if possible; called before other pods are placed. Pods for which
   * the time is too short come first the next time.
   */
  public void planAll() {
    if (nominees.size() == 0) {
      return;
    }
    List<Unplanned> unplanned = nominees.unplanned();
    long nowMs = clockMs.getAsLong();
    for (Unplanned each : unplanned) {
      if (clockMs.getAsLong() > nowMs + PLAN_MS_MAX) {
        return;
      }
      each.nominee().turnMs = nowMs;
      plan(each.pod(), each.nominee());
    }
  }

  /** Records that this extender has chosen victims for the pod. */
  public void planned(String uid) {
    nominees.planned(uid);
  }

  private void plan(PodFacts pod, Nominee nominee) {
    Optional<Hold> elsewhere = ledger.hold(pod.uid()).filter(hold -> !ledger.nominated(pod.uid()));
    if (elsewhere.filter(hold -> hold.stage() == Hold.Stage.TENTATIVE).isPresent()) {
      // The hold elsewhere may expire: the pod then needs the GPUs of its nominated node again.
      return;
    }
    boolean late = clockMs.getAsLong() - nominee.sinceMs >= Timing.DEFAULT.nominatedMs();
    nominee.planDone = elsewhere.isPresent() || late;
    if (nominee.planDone || tried(nominee.node).equals(nominee.tried)) {
      return;
    }
    Set<String> terminating = terminating(nominee.node);
    Optional<Placement> freed =
        evaluator.evaluateWithout(pod, nominee.node, terminating).placement();
    nominee.planDone = freed.isPresent();
    freed
        .or(() -> expected(pod, nominee.node, terminating))
        .ifPresent(place -> hold(pod, nominee.node, place));
    nominee.tried = tried(nominee.node);
  }

  private Tried tried(String node) {
    boolean budgetsRead = budgets.whyNotReady().isEmpty();
    return new Tried(ledger.version(node), loads.version(node), budgetsRead);
  }

  /**
   * Returns the terminating pods, however long they have been terminating: the pod was nominated
   * because they end.
   */
  private Set<String> terminating(String node) {
    return ledger.holds(node).stream()
        .flatMap(hold -> ledger.pod(hold.uid()).stream())
        .filter(pod -> pod.preemption().terminating())
        .map(PodFacts::uid)
        .collect(Collectors.toSet());
  }

  /**
   * Returns where the fewest additional victims would make the pod fit: perhaps not all victims
   * terminate yet.
   */
  private Optional<Placement> expected(PodFacts pod, String node, Set<String> terminating) {
    if (budgets.whyNotReady().isPresent()) {
      // Victims are chosen by PodDisruptionBudgets; without these, others would be chosen.
      return Optional.empty();
    }
    var candidates =
        Candidates.of(ledger, pod, node, clockMs.getAsLong()).stream()
            .filter(candidate -> !terminating.contains(candidate.pod().uid()))
            .toList();
    NodeFit now = evaluator.evaluateWithout(pod, node, terminating);
    var victims =
        new Victims(
            budgets.budgets(),
            new ReplicaBound(now.request(), now.gpus(), Victims.Bound.NONE),
            more ->
                evaluator
                    .evaluateWithout(pod, node, both(terminating, more))
                    .placement()
                    .isPresent());
    return victims
        .choose(candidates, List.of())
        .map(choice -> choice.victims().stream().map(PodFacts::uid).collect(Collectors.toSet()))
        .flatMap(more -> evaluator.evaluateWithout(pod, node, both(terminating, more)).placement());
  }

  private static Set<String> both(Set<String> some, Set<String> others) {
    var all = new HashSet<>(some);
    all.addAll(others);
    return all;
  }

  private void hold(PodFacts pod, String node, Placement place) {
    state.apply(new Event.Nominate(pod, Map.of(node, place), node));
    // The pod is nominated already: its hold then lasts as long as that of a nomination seen here.
    state.apply(new Event.PodSeen(pod));
  }
}
