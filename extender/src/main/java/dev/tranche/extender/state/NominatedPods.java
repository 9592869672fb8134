package dev.tranche.extender.state;

import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.snapshot.Trials;
import dev.tranche.extender.snapshot.Turn;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Holds GPUs for pods that kube-scheduler has nominated and not bound yet, and whose nomination
 * another extender replica has planned. That replica may be gone, but its victims still terminate.
 * Pods of lower priority must not get what the victims free. The plan is made anew from what the
 * API server shows: the nomination, and the terminating pods on that node. Bounded; confined to the
 * loop.
 */
public final class NominatedPods {
  static final int PODS_MAX = 1_000;

  private final SchedulingCore core;
  private final Ledger ledger;
  private final Consumer<Event> state;
  private final Turn turn;

  /** By uid, in the order in which they were first seen. */
  private final SequencedMap<String, Nominee> nominees = new LinkedHashMap<>();

  /**
   * @param state applies what follows from a plan
   */
  NominatedPods(SchedulingCore core, Consumer<Event> state) {
    this.core = core;
    this.ledger = core.ledger;
    this.state = state;
    this.turn = new Turn(core.clockMs);
  }

  /** The inputs of a plan; with equal inputs it need not be made again. */
  private record Tried(long ledgerVersion, long loadVersion) {}

  private static final class Nominee {
    final String node;
    final long sinceMs;

    /** Whether this extender has no plan to make for the pod, or none any more. */
    boolean planDone;

    @Nullable Tried tried;

    /** When the round began in which the pod last had its turn; 0 if it had none yet. */
    long turnMs;

    Nominee(String node, long sinceMs, boolean planDone) {
      this.node = node;
      this.sinceMs = sinceMs;
      this.planDone = planDone;
    }
  }

  /** Nominated pods that are not bound yet. */
  int size() {
    return nominees.size();
  }

  /** Updates a pod; must be called after the Ledger has applied the pod's event. */
  void update(String uid) {
    String node =
        ledger
            .pod(uid)
            .filter(PodFacts::isPending)
            .map(pod -> pod.preemption().nominatedNode())
            .orElse(null);
    Nominee known = nominees.get(uid);
    if (known != null && known.node.equals(node)) {
      return;
    }
    nominees.remove(uid);
    if (node != null) {
      nominees.put(uid, new Nominee(node, core.nowMs(), ledger.nominated(uid)));
      if (nominees.size() > PODS_MAX) {
        nominees.pollFirstEntry();
      }
    }
  }

  /** Records that this extender has chosen victims for the pod. */
  public void planned(String uid) {
    Nominee nominee = nominees.get(uid);
    if (nominee != null) {
      nominee.planDone = true;
    }
  }

  /**
   * Holds GPUs for nominated pods, if possible; called before other pods are placed. This takes one
   * turn at most. Pods that it is too short for come first the next time.
   */
  public void planAll() {
    if (nominees.isEmpty()) {
      return;
    }
    long nowMs = core.nowMs();
    turn.begin();
    try {
      for (Unplanned each : unplanned()) {
        Nominee nominee = each.nominee();
        core.evaluator.onNode(nominee.node, () -> plan(each.pod(), nominee));
        nominee.turnMs = nowMs;
      }
    } catch (Turn.Over over) {
      // The others have their turn next time.
    }
  }

  private record Unplanned(PodFacts pod, Nominee nominee) {}

  /** First those that had no turn for the longest time, then by priority. */
  private List<Unplanned> unplanned() {
    return nominees.entrySet().stream()
        .filter(entry -> !entry.getValue().planDone)
        .flatMap(
            entry ->
                ledger
                    .pod(entry.getKey())
                    .map(pod -> new Unplanned(pod, entry.getValue()))
                    .stream())
        .sorted(
            Comparator.<Unplanned>comparingLong(each -> each.nominee().turnMs)
                .thenComparingInt(each -> -each.pod().preemption().priority()))
        .toList();
  }

  private void plan(PodFacts pod, Nominee nominee) {
    String node = nominee.node;
    Optional<Hold> elsewhere = ledger.hold(pod.uid()).filter(hold -> !ledger.nominated(pod.uid()));
    if (elsewhere.filter(Hold::isTentative).isPresent()) {
      // The hold elsewhere may expire: the pod then needs the GPUs of its nominated node again.
      return;
    }
    boolean late = core.nowMs() - nominee.sinceMs >= Timing.DEFAULT.nominatedMs();
    nominee.planDone = elsewhere.isPresent() || late;
    var now = new Tried(ledger.version(node), core.loads.version(node));
    if (nominee.planDone || now.equals(nominee.tried)) {
      return;
    }
    Optional<Placement> freed =
        new Trials(core.evaluator, ledger, pod, turn).without(node, terminating(node)).placement();
    nominee.tried = now;
    nominee.planDone = freed.isPresent();
    if (freed.isPresent()) {
      state.accept(new Event.Nominate(pod, Map.of(node, freed.get()), node));
      // The pod is nominated already: its hold then lasts as long as that of a nomination seen
      // here.
      state.accept(new Event.PodSeen(pod));
    }
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
}
