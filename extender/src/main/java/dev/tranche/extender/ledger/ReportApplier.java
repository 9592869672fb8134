package dev.tranche.extender.ledger;

import dev.tranche.extender.ledger.Hold.Stage;
import dev.tranche.extender.placement.Placement;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** What the {@link Ledger} makes of what nodes say: whom they hold for, and what they echo. */
final class ReportApplier {
  /** A new pod's assignment may come a moment before the pod. */
  private static final long UNKNOWN_POD_MS = 2_000;

  private static final long CHECK_EVERY_MS = 10_000;

  private final Timing timing;
  private final LedgerState ledgerState;
  private boolean synced;

  ReportApplier(Timing timing, LedgerState ledgerState) {
    this.timing = timing;
    this.ledgerState = ledgerState;
  }

  /** The informers have shown all that there is. */
  void synced() {
    synced = true;
  }

  void reported(Transition step, NodeInfo book, NodeState state, OptionalLong listAgeMs) {
    if (book.hearsNothingNew(state, listAgeMs, step.nowMs())) {
      return;
    }
    step.touch(book);
    boolean opened = book.hear(state, listAgeMs, step.nowMs());
    state.echoes().forEach(echo -> echo(step, book, echo));
    for (Hold hold : List.copyOf(book.holds.values())) {
      Hold placed = placedAgain(book, hold);
      Hold read = state.holdingsKnown() ? readBack(step, book, placed) : placed;
      if (opened || read.stage() == Stage.BOUND) {
        remind(step, book, read);
      }
    }
  }

  /** Its node must know a pod's GPUs until it starts; another replica may have retracted them. */
  void remind(Transition step, NodeInfo book, Hold hold) {
    PodFacts pod = ledgerState.pods.get(hold.uid());
    boolean waits = pod == null || (!pod.running() && pod.listed());
    if (waits && hold.stage() != Stage.TENTATIVE && book.remind(hold, step.nowMs())) {
      step.say(new Decision.Assign(book.name, hold.assignment()));
    }
  }

  /**
   * An annotation may not have been readable before the node had said its R, and what another
   * replica has tried first may have been another place.
   */
  private Hold placedAgain(NodeInfo book, Hold hold) {
    PodFacts pod = ledgerState.pods.get(hold.uid());
    if (pod == null || hold.confirmed() || hold.stage() != Stage.BOUND) {
      return hold;
    }
    Optional<PlacementReader.Found> said =
        book.said(pod).filter(s -> s.exact() || hold.placement() == null);
    if (said.isEmpty() || said.get().placement().held().equals(hold.held())) {
      return hold;
    }
    int replicasPerGpu = book.toldReplicasPerGpu(pod);
    Hold placed = hold.placed(said.get().placement(), said.get().exact(), false, replicasPerGpu);
    ledgerState.put(book, placed);
    return placed;
  }

  private void echo(Transition step, NodeInfo book, Assignment echo) {
    PodFacts pod = ledgerState.pods.get(echo.uid());
    boolean over = ledgerState.tombstones.containsKey(echo.uid()) || (pod != null && pod.ended());
    NodeInfo holder = ledgerState.holders.get(echo.uid());
    boolean boundElsewhere = holder != null && holder != book && ledgerState.bound(echo.uid());
    if (over || boundElsewhere) {
      step.say(new Decision.Retract(book.name, echo.uid()));
    } else if (holder != null && holder != book) {
      // A bind that failed there is tried here, by another replica: its own business to retract.
      return;
    } else {
      expect(step, book, echo, pod);
    }
  }

  /**
   * Another replica has begun to bind the pod here, or we have before a restart. If it is not bound
   * in time, nobody goes on with it: the API server then tells what became of it.
   */
  private void expect(Transition step, NodeInfo book, Assignment echo, @Nullable PodFacts pod) {
    String uid = echo.uid();
    if (pod != null && !pod.key().equals(echo.key())) {
      // Which pod it is, the API server has said; the node is not to have another looked up.
      step.say(new Decision.Retract(book.name, uid));
      return;
    }
    Hold hold = book.holds.get(uid);
    if (hold == null && pod == null && !book.believesMoreEchoes()) {
      return;
    }
    if (hold == null) {
      hold =
          Hold.tentative(
              uid,
              echo.key(),
              book.name,
              echo.resource(),
              echo.placement(),
              echo.replicasPerGpu(),
              step.nowMs(),
              step.nowMs() + timing.tentativeMs());
      ledgerState.put(book, hold);
    }
    if (hold.stage() != Stage.TENTATIVE) {
      return;
    }
    long sinceMs = book.echoed.computeIfAbsent(uid, first -> step.nowMs());
    long untilMs = Math.min(step.nowMs() + timing.tentativeMs(), sinceMs + timing.unknownBindMs());
    if (untilMs > hold.expiresAtMs()) {
      ledgerState.put(book, hold.until(untilMs));
    }
    if (pod == null && step.nowMs() - sinceMs >= UNKNOWN_POD_MS) {
      // Its deletion may have been seen by nobody.
      check(step, book, uid, echo.key());
    }
  }

  /** Asks what the API server has of a pod: now and then, and once the informers have had a say. */
  void check(Transition step, NodeInfo book, String uid, String key) {
    if (synced && step.nowMs() >= book.checks.getOrDefault(uid, step.nowMs())) {
      book.checks.put(uid, step.nowMs() + CHECK_EVERY_MS);
      step.say(new Decision.CheckPod(book.name, uid, key));
    }
  }

  /**
   * Moves or confirms a bound hold by what the kubelet says. It names pods by namespace and name.
   * An entry is of an earlier pod if the list is older than the hold, or if the node still waits
   * for the kubelet to take up this one.
   */
  Hold readBack(Transition step, NodeInfo book, Hold hold) {
    PodFacts pod = ledgerState.pods.get(hold.uid());
    if (book.state == null || pod == null || pod.node() == null) {
      return hold;
    }
    Map<String, Map<String, Integer>> read = book.state.holdings().get(hold.key());
    boolean awaited = book.echoes(hold.uid()) && !pod.running();
    if (read == null || awaited || !book.tellsOf(hold)) {
      return hold;
    }
    int replicas = book.replicasPerGpu(hold.resource());
    Optional<Placement> actual =
        PlacementReader.byReadBack(pod, read, hold.held().keySet(), replicas);
    if (actual.isEmpty()) {
      return hold;
    }
    Placement place = actual.get();
    boolean moved = hold.exact() && !hold.held().keySet().equals(place.held().keySet());
    if (moved) {
      List<String> assigned = List.copyOf(hold.held().keySet());
      List<String> now = List.copyOf(place.held().keySet());
      step.say(new Decision.Drifted(book.name, hold.key(), assigned, now));
    }
    if (hold.confirmed() && hold.held().equals(place.held())) {
      return hold;
    }
    Hold confirmed = hold.placed(place, false, true);
    ledgerState.put(book, confirmed);
    return confirmed;
  }
}
