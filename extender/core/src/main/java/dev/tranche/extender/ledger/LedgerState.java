package dev.tranche.extender.ledger;

import dev.tranche.extender.ledger.Hold.Stage;
import dev.tranche.extender.ledger.PlacementReader.Found;
import dev.tranche.extender.placement.Placement;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The data of the {@link Ledger} and its basic changes: pods, nodes and their holds. */
final class LedgerState {
  /** Limit for all nodes together, beyond which each has {@link #ECHOED_FAIR}. */
  static final int ECHOED_IN_ALL_MAX = 16_384;

  static final int ECHOED_FAIR = 8;

  private final Timing timing;
  private int echoed;
  private final ChangedNodes changes;
  final Map<String, NodeEntry> nodes = new HashMap<>();
  final KeptPods pods = new KeptPods(name -> read(name).known());

  /** Stands for each node of which nothing is known. */
  private final NodeEntry unknown = new NodeEntry("", new ChangedNodes());

  /** The node that has the pod's hold, by pod uid. */
  final Map<String, NodeEntry> holders = new HashMap<>();

  /** Until when the events of deleted pods may come late, by uid, the oldest first. */
  private final LinkedHashMap<String, Long> tombstones = new LinkedHashMap<>();

  LedgerState(Timing timing, ChangedNodes changes) {
    this.timing = timing;
    this.changes = changes;
    unknown.version = 0;
  }

  Optional<Hold> hold(String uid) {
    NodeEntry entry = holders.get(uid);
    return entry == null ? Optional.empty() : Optional.ofNullable(entry.holds.get(uid));
  }

  /** Creates a tentative hold; its R is the pod's own, or else that of the placement's GPUs. */
  Hold tentative(PodFacts pod, NodeEntry entry, Placement placement, long nowMs) {
    int replicasPerGpu = entry.replicasPerGpu(pod, placement);
    var assigned =
        new Assignment(pod.uid(), pod.key(), pod.resource(), placement, replicasPerGpu, Map.of());
    return tentative(assigned, entry, nowMs);
  }

  Hold tentative(Assignment assigned, NodeEntry entry, long nowMs) {
    return Hold.tentative(assigned, entry.name, nowMs, nowMs + timing.tentativeMs());
  }

  /**
   * Creates a bound hold.
   *
   * @param before the hold so far. Once a watch has shown that it is bound, it stays so
   * @param untilMs when the pod is checked again
   */
  Hold bound(PodFacts pod, NodeEntry entry, @Nullable Hold before, long nowMs, long untilMs) {
    Hold bound = before != null && before.isBound() ? before : null;
    long expiresAtMs = bound == null ? untilMs : Math.max(bound.expiresAtMs(), untilMs);
    Optional<Found> claimed = entry.claimedPlacement(pod);
    if (before != null && (before.confirmed() || before.agreesWith(claimed))) {
      return bound == null ? before.at(Stage.BOUND, nowMs, expiresAtMs) : bound.until(expiresAtMs);
    }
    Found found = claimed.orElse(null);
    return new Hold(
        pod.uid(),
        pod.key(),
        entry.name,
        pod.resource(),
        found == null ? null : found.placement(),
        found != null && found.exact(),
        pod.demand(entry.replicasPerGpu(pod.resource())).peakReplicas(),
        entry.assignedReplicasPerGpu(pod),
        Stage.BOUND,
        Hold.since(before, pod, nowMs, timing.newcomerMs()),
        Hold.listsCountFromMs(before, pod, nowMs),
        expiresAtMs);
  }

  void put(Hold hold) {
    NodeEntry entry = entry(hold.node());
    entry.changed();
    entry.expiresFromMs = Math.min(entry.expiresFromMs, hold.expiresAtMs());
    entry.holds.put(hold.uid(), hold);
    holders.put(hold.uid(), entry);
  }

  void drop(Transition step, String uid) {
    NodeEntry entry = holders.remove(uid);
    Hold hold = entry == null ? null : entry.holds.get(uid);
    if (entry == null || hold == null) {
      return;
    }
    step.beforeChange(entry);
    entry.holds.remove(uid);
    entry.resendFromMs.remove(uid);
    echoed -= entry.echoed.remove(uid) == null ? 0 : 1;
    entry.checks.remove(uid);
    if (!hold.isTentative() && !hold.confirmed()) {
      step.emit(new Decision.Retract(entry.name, uid));
    }
    forget(entry);
  }

  /** Drops the pod's hold and retracts an assignment that the node still keeps. */
  void giveUp(Transition step, NodeEntry entry, String uid) {
    boolean retracted = boundOrBinding(uid);
    drop(step, uid);
    if (!retracted && entry.echoes(uid)) {
      step.emit(new Decision.Retract(entry.name, uid));
    }
  }

  /** Returns whether the node may echo another assignment of a pod that nobody knows. */
  boolean acceptsMoreEchoes(NodeEntry entry) {
    int own = entry.echoed.size();
    return own < ECHOED_FAIR || (own < NodeEntry.ECHOED_MAX && echoed < ECHOED_IN_ALL_MAX);
  }

  /** Returns since when the node has echoed the pod's assignment. */
  long echoedSinceMs(NodeEntry entry, String uid, long nowMs) {
    Long before = entry.echoed.putIfAbsent(uid, nowMs);
    echoed += before == null ? 1 : 0;
    return before == null ? nowMs : before;
  }

  /** Returns whether the API server has bound the pod. */
  boolean bound(String uid) {
    return hold(uid).filter(Hold::isBound).isPresent();
  }

  /** Returns whether the pod is bound, or being bound. */
  boolean boundOrBinding(String uid) {
    return hold(uid).filter(h -> !h.isTentative()).isPresent();
  }

  /** Returns the node's entry; creates an empty one for an unknown node. */
  NodeEntry entry(String name) {
    return nodes.computeIfAbsent(name, n -> new NodeEntry(n, changes));
  }

  /** Returns what is known of a node. */
  NodeEntry read(String name) {
    return nodes.getOrDefault(name, unknown);
  }

  boolean holdsOfKnownNode(String uid) {
    NodeEntry holder = holders.get(uid);
    return holder != null && holder.known();
  }

  /** Forgets a pod for which there is no room; events of an ended one may be late. */
  void leaveOut(Transition step, PodFacts pod) {
    pods.remove(pod.uid());
    drop(step, pod.uid());
    NodeEntry entry = pod.node() == null ? null : nodes.get(pod.node());
    if (entry != null) {
      entry.started(pod.uid());
    }
    if (pod.ended()) {
      ignore(pod.uid(), step.nowMs);
    }
  }

  /**
   * Returns whether the pod is not one of too many on its node. What was placed there is kept in
   * any case.
   */
  boolean hasRoom(PodFacts pod) {
    NodeEntry entry = pod.ended() || pod.node() == null ? null : nodes.get(pod.node());
    return entry == null
        || entry.holds.containsKey(pod.uid())
        || entry.holds.size() < KeptPods.ON_NODE_MAX;
  }

  /** Returns whether the pod has been deleted, or is remembered no longer. */
  boolean isGone(String uid) {
    return tombstones.containsKey(uid);
  }

  /** Ignores later events of a pod for as long as they may be late. */
  void ignore(String uid, long nowMs) {
    tombstones.putIfAbsent(uid, nowMs + timing.tombstoneMs());
  }

  /** Removes the tombstones that have expired. */
  void forgetGone(long nowMs) {
    var oldest = tombstones.values().iterator();
    while (oldest.hasNext() && oldest.next() <= nowMs) {
      oldest.remove();
    }
  }

  void forget(NodeEntry entry) {
    if (entry.forgettable()) {
      nodes.remove(entry.name);
    }
  }
}
