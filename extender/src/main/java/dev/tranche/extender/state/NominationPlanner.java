package dev.tranche.extender.state;

import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.preempt.Candidates;
import dev.tranche.extender.preempt.ReplicaBound;
import dev.tranche.extender.preempt.Victims;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.snapshot.Trials;
import dev.tranche.extender.snapshot.Turn;
import dev.tranche.extender.state.NominatedPods.Attempt;
import dev.tranche.extender.state.NominatedPods.Nominee;
import dev.tranche.extender.state.NominatedPods.Tried;
import dev.tranche.extender.state.NominatedPods.Unplanned;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Holds GPUs for pods whose nomination another extender replica has planned. That replica may be
 * gone, but its victims still terminate. Pods of lower priority must not get what the victims free.
 * The plan is made anew from what the API server shows: the nomination, and the terminating pods on
 * that node.
 */
public final class NominationPlanner {
  private final SchedulingCore core;
  private final NominatedPods nominees;
  private final Ledger ledger;
  private final StateWriter state;
  private final Turn turn;

  NominationPlanner(SchedulingCore core, NominatedPods nominees, StateWriter state) {
    this.core = core;
    this.nominees = nominees;
    this.ledger = core.ledger;
    this.state = state;
    this.turn = new Turn(core.clockMs);
  }

  /**
   * Holds GPUs for nominated pods, if possible; called before other pods are placed. This takes one
   * turn at most. Pods that it is too short for come first the next time.
   */
  public void planAll() {
    if (nominees.size() == 0) {
      return;
    }
    List<Unplanned> unplanned = nominees.unplanned();
    long nowMs = core.nowMs();
    turn.begin();
    try {
      for (Unplanned each : unplanned) {
        turn.step();
        each.nominee().turnMs = nowMs;
        core.evaluator.onNode(each.nominee().node, () -> plan(each.pod(), each.nominee()));
      }
    } catch (Turn.Over over) {
      // The attempt goes on when its pod has its next turn.
    }
  }

  private void plan(PodFacts pod, Nominee nominee) {
    Optional<Hold> elsewhere = ledger.hold(pod.uid()).filter(hold -> !ledger.nominated(pod.uid()));
    if (elsewhere.filter(Hold::isTentative).isPresent()) {
      // The hold elsewhere may expire: the pod then needs the GPUs of its nominated node again.
      return;
    }
    boolean late = core.nowMs() - nominee.sinceMs >= Timing.DEFAULT.nominatedMs();
    nominee.planDone = elsewhere.isPresent() || late;
    if (nominee.planDone || tried(nominee.node).equals(nominee.tried)) {
      return;
    }
    Attempt attempt = attempt(pod, nominee);
    Set<String> terminating = terminating(nominee.node);
    Optional<Placement> freed = attempt.trials().without(nominee.node, terminating).placement();
    Optional<Placement> place = freed.or(() -> expected(pod, nominee.node, terminating, attempt));
    nominee.planDone = freed.isPresent();
    place.ifPresent(found -> hold(pod, nominee.node, found));
    nominee.tried = tried(nominee.node);
    nominee.attempt = null;
  }

  private Attempt attempt(PodFacts pod, Nominee nominee) {
    long version = ledger.version(nominee.node);
    @Nullable Attempt before = nominee.attempt;
    if (before != null && before.ledgerVersion() == version) {
      return before;
    }
    var attempt =
        new Attempt(
            version, new Trials(core.evaluator, ledger, pod, turn), core.budgets.budgets(turn));
    nominee.attempt = attempt;
    return attempt;
  }

  private Tried tried(String node) {
    boolean budgetsRead = core.budgets.whyNotReady().isEmpty();
    return new Tried(ledger.version(node), core.loads.version(node), budgetsRead);
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
  private Optional<Placement> expected(
      PodFacts pod, String node, Set<String> terminating, Attempt attempt) {
    if (core.budgets.whyNotReady().isPresent()) {
      // Victims are chosen by PodDisruptionBudgets; without these, others would be chosen.
      return Optional.empty();
    }
    var candidates =
        Candidates.of(ledger, pod, node, core.nowMs()).stream()
            .filter(candidate -> !terminating.contains(candidate.pod().uid()))
            .toList();
    Trials trials = attempt.trials();
    NodeFit now = trials.without(node, terminating);
    var victims =
        new Victims(
            attempt.budgets(),
            new ReplicaBound(now.request(), now.gpus(), Victims.Bound.NONE),
            more -> trials.without(node, both(terminating, more)).fits());
    return victims
        .choose(candidates, List.of())
        .map(choice -> choice.victims().stream().map(PodFacts::uid).collect(Collectors.toSet()))
        .flatMap(more -> trials.without(node, both(terminating, more)).placement());
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
