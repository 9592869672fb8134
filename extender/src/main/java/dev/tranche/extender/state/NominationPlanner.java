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
import dev.tranche.extender.preempt.Victims;
import dev.tranche.extender.snapshot.NodeEvaluator;
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
 * Holds GPUs for pods that kube-scheduler has nominated by a plan that was not made here. The
 * replica that made it may be gone, but its victims still end. What they free is not for pods of
 * lower priority. The plan is made anew from what the API server shows: the nomination, and who
 * terminates on that node.
 */
public final class NominationPlanner {
  /** Each filter spends that on others' plans at most; it must answer its own pod's in time. */
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
   * Before others are given room: the GPUs of those that are nominated are held, if possible. Those
   * that the time was not enough for come first the next time.
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

  /** Victims for the pod were chosen here. */
  public void planned(String uid) {
    nominees.planned(uid);
  }

  private void plan(PodFacts pod, Nominee nominee) {
    Optional<Hold> elsewhere = ledger.hold(pod.uid()).filter(hold -> !ledger.nominated(pod.uid()));
    if (elsewhere.filter(hold -> hold.stage() == Hold.Stage.TENTATIVE).isPresent()) {
      // It may come to nothing: then the room where the pod is nominated is its again.
      return;
    }
    boolean late = clockMs.getAsLong() - nominee.sinceMs >= Timing.DEFAULT.nominatedMs();
    nominee.settled = elsewhere.isPresent() || late;
    if (nominee.settled || tried(nominee.node).equals(nominee.tried)) {
      return;
    }
    Set<String> leaving = leaving(nominee.node);
    Optional<Placement> freed = evaluator.evaluateWithout(pod, nominee.node, leaving).placement();
    nominee.settled = freed.isPresent();
    freed
        .or(() -> expected(pod, nominee.node, leaving))
        .ifPresent(place -> hold(pod, nominee.node, place));
    nominee.tried = tried(nominee.node);
  }

  private Tried tried(String node) {
    boolean budgetsRead = budgets.unread().isEmpty();
    return new Tried(ledger.version(node), loads.version(node), budgetsRead);
  }

  /** However long ago they were told to go: these are who the pod was nominated for. */
  private Set<String> leaving(String node) {
    return ledger.holds(node).stream()
        .flatMap(hold -> ledger.pod(hold.uid()).stream())
        .filter(pod -> pod.standing().leaving())
        .map(PodFacts::uid)
        .collect(Collectors.toSet());
  }

  /** Not all victims are known to go yet: where the fewest more would make room. */
  private Optional<Placement> expected(PodFacts pod, String node, Set<String> leaving) {
    if (budgets.unread().isPresent()) {
      // Who would go is chosen by budgets: without them it would be somebody else.
      return Optional.empty();
    }
    var candidates =
        Candidates.of(ledger, pod, node, clockMs.getAsLong()).stream()
            .filter(candidate -> !leaving.contains(candidate.pod().uid()))
            .toList();
    var victims =
        new Victims(
            budgets.budgets(),
            more ->
                evaluator.evaluateWithout(pod, node, both(leaving, more)).placement().isPresent());
    return victims
        .choose(candidates, Set.of())
        .map(choice -> choice.victims().stream().map(PodFacts::uid).collect(Collectors.toSet()))
        .flatMap(more -> evaluator.evaluateWithout(pod, node, both(leaving, more)).placement());
  }

  private static Set<String> both(Set<String> some, Set<String> others) {
    var all = new HashSet<>(some);
    all.addAll(others);
    return all;
  }

  private void hold(PodFacts pod, String node, Placement place) {
    state.apply(new Event.Nominate(pod, Map.of(node, place), node));
    // It is nominated already: the hold lasts as long as that of a nomination that we have seen.
    state.apply(new Event.PodSeen(pod));
  }
}
