package dev.tranche.extender.ledger;

import dev.tranche.extender.ledger.Hold.Stage;
import dev.tranche.extender.ledger.PlacementReader.Found;
import dev.tranche.extender.placement.Placement;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Applies the reports of nodes to the {@link Ledger}: the kubelet's lists and echoed assignments.
 */
final class ReportApplier {
  /** How long a new pod's assignment may come before the pod itself. */
  private static final long UNKNOWN_POD_MS = 2_000;

  private static final long CHECK_EVERY_MS = 10_000;

  private final Timing timing;
  private final LedgerState ledgerState;
  private final UnstartedPods unstartedPods;
  private boolean synced;

  ReportApplier(Timing timing, LedgerState ledgerState, UnstartedPods unstartedPods) {
    this.timing = timing;
    this.ledgerState = ledgerState;
    this.unstartedPods = unstartedPods;
  }

  /** Records that the informers have listed all pods and nodes. */
  void synced() {
    synced = true;
  }

  void reported(Transition step, NodeEntry entry, NodeState state, OptionalLong listAgeMs) {
    if (!entry.repeatsLastReport(state, listAgeMs, step.nowMs)) {
      apply(step, entry, state, listAgeMs);
    }
    unstartedPods.reported(step, entry);
  }

  private void apply(Transition step, NodeEntry entry, NodeState state, OptionalLong listAgeMs) {
    step.beforeChange(entry);
    boolean opened = entry.applyReport(state, listAgeMs, step.nowMs);
    if (opened) {
      ledgerState.pods.nodeKnown(entry.holds.keySet());
    }
    state.echoes().forEach(echo -> applyEcho(step, entry, echo));
    for (Hold hold : List.copyOf(entry.holds.values())) {
      Hold placed = updatePlacement(entry, hold);
      Hold read = state.holdingsKnown() ? readBack(step, entry, placed) : placed;
      if (opened || read.isBound()) {
        resendIfDue(step, entry, read);
      }
      // Another extender replica may have bound the pod before the node lost its assignment.
      if (isForEcho(entry, read) && !entry.echoes(read.uid())) {
        check(step, entry, read.uid(), read.key());
      }
    }
  }

  /**
   * Sends an assignment again. The node needs it until the pod starts, and another extender replica
   * may have retracted it.
   */
  void resendIfDue(Transition step, NodeEntry entry, Hold hold) {
    PodFacts pod = ledgerState.pods.get(hold.uid());
    boolean waits = pod == null || (!pod.running() && pod.listed());
    if (waits && !hold.isTentative() && entry.markResentIfDue(hold, step.nowMs)) {
      Map<String, Long> limits = pod == null ? Map.of() : pod.memoryLimits();
      step.emit(new Decision.Assign(entry.name, hold.assignment(limits)));
    }
  }

  /**
   * Updates the placement of a bound hold. Its annotation may not have been readable before the
   * node reported R. Another extender replica may first have tried another place.
   */
  private Hold updatePlacement(NodeEntry entry, Hold hold) {
    PodFacts pod = ledgerState.pods.get(hold.uid());
    if (pod == null || hold.confirmed() || !hold.isBound()) {
      return hold;
    }
    Optional<Found> claimed =
        entry.claimedPlacement(pod).filter(s -> s.exact() || hold.placement() == null);
    if (claimed.isEmpty() || claimed.get().placement().held().equals(hold.held())) {
      return hold;
    }
    int replicasPerGpu = entry.assignedReplicasPerGpu(pod);
    Hold placed =
        hold.placed(claimed.get().placement(), claimed.get().exact(), Stage.BOUND, replicasPerGpu);
    ledgerState.put(placed);
    return placed;
  }

  private void applyEcho(Transition step, NodeEntry entry, Assignment echo) {
    PodFacts pod = ledgerState.pods.get(echo.uid());
    boolean ended = ledgerState.isGone(echo.uid()) || (pod != null && pod.ended());
    NodeEntry holder = ledgerState.holders.get(echo.uid());
    boolean boundElsewhere = holder != null && holder != entry && ledgerState.bound(echo.uid());
    if (ended || boundElsewhere) {
      step.emit(new Decision.Retract(entry.name, echo.uid()));
    } else if (holder != null && holder != entry) {
      // Another extender replica tries a failed bind again on this node, and retracts it by itself.
      Hold hold = holder.holds.get(echo.uid());
      if (hold != null && isForEcho(holder, hold)) {
        entry.contest(echo);
      }
    } else {
      holdForEcho(step, entry, echo, pod);
    }
  }

  /** Whether a hold is of another replica's making. */
  private static boolean isForEcho(NodeEntry holder, Hold hold) {
    return hold.isTentative() && holder.echoed.containsKey(hold.uid());
  }

  /**
   * Holds GPUs for a pod whose binding another extender replica has begun, or this one before a
   * restart. If the pod is not bound in time, nobody continues the binding, and the API server is
   * asked.
   */
  private void holdForEcho(
      Transition step, NodeEntry entry, Assignment echo, @Nullable PodFacts pod) {
    String uid = echo.uid();
    if (pod != null && !pod.key().equals(echo.key())) {
      // The API server has shown the uid's pod; a node must not make us look up another one.
      step.emit(new Decision.Retract(entry.name, uid));
      return;
    }
    Hold hold = entry.holds.get(uid);
    if (hold == null && pod == null && !ledgerState.acceptsMoreEchoes(entry)) {
      return;
    }
    if (hold == null) {
      hold = ledgerState.tentative(echo, entry, step.nowMs);
      ledgerState.put(hold);
    }
    if (!hold.isTentative()) {
      return;
    }
    long sinceMs = ledgerState.echoedSinceMs(entry, uid, step.nowMs);
    long untilMs = Math.min(step.nowMs + timing.tentativeMs(), sinceMs + timing.unknownBindMs());
    if (untilMs > hold.expiresAtMs()) {
      ledgerState.put(hold.until(untilMs));
    }
    if (pod == null && step.nowMs - sinceMs >= UNKNOWN_POD_MS) {
      // Perhaps no watch has shown the pod's deletion.
      check(step, entry, uid, echo.key());
    }
  }

  /**
   * Has the API server asked about a pod; rate limited, and only once the informers have synced.
   */
  void check(Transition step, NodeEntry entry, String uid, String key) {
    if (synced && step.nowMs >= entry.checks.getOrDefault(uid, step.nowMs)) {
      entry.checks.put(uid, step.nowMs + CHECK_EVERY_MS);
      step.emit(new Decision.CheckPod(entry.name, uid, key));
    }
  }

  /**
   * Moves or confirms a bound hold by the kubelet's list, which names pods by namespace and name.
   * An entry is of an earlier pod if the list is older than the hold. The same applies while the
   * node still waits for the kubelet to admit this pod.
   */
  Hold readBack(Transition step, NodeEntry entry, Hold hold) {
    PodFacts pod = ledgerState.pods.get(hold.uid());
    if (entry.state == null || pod == null || pod.node() == null || !hold.isBound()) {
      return hold;
    }
    Map<String, Map<String, Integer>> read = entry.state.holdings().get(hold.key());
    boolean awaited = entry.echoes(hold.uid()) && !pod.running();
    if (read == null || awaited || !entry.listCovers(hold)) {
      return hold;
    }
    int granted = entry.grantedOf(hold);
    int replicas = granted > 0 ? granted : entry.replicasPerGpu(hold.resource());
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
      step.emit(new Decision.Drifted(entry.name, hold.key(), assigned, now));
    }
    // The R of the GPUs that were assigned may not be that of others.
    int assumed = moved ? pod.stampedReplicas().orElse(0) : hold.replicasPerGpu();
    int countedIn = granted > 0 ? granted : assumed;
    boolean same = hold.held().equals(place.held()) && hold.replicasPerGpu() == countedIn;
    if (hold.confirmed() && same) {
      return hold;
    }
    Hold confirmed = hold.placed(place, false, Stage.CONFIRMED, countedIn);
    ledgerState.put(confirmed);
    return confirmed;
  }
}
