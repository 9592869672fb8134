package dev.tranche.extender.ledger;

import dev.tranche.extender.ledger.Hold.Stage;
import dev.tranche.extender.placement.Placement;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** The data of the {@link Ledger} and its basic changes: pods, nodes and their holds. */
final class LedgerState {
  private final Timing timing;
  private final ChangedNodes changes;
  final Map<String, NodeEntry> nodes = new HashMap<>();
  final KeptPods pods = new KeptPods();

  /** The node that has the pod's hold, by pod uid. */
  final Map<String, NodeEntry> holders = new HashMap<>();

  /** Uids of deleted pods, the oldest first, each with the time at which its entry expires. */
  final LinkedHashMap<String, Long> tombstones = new LinkedHashMap<>();

  LedgerState(Timing timing, ChangedNodes changes) {
    this.timing = timing;
    this.changes = changes;
  }

  Optional<Hold> hold(String uid) {
    NodeEntry entry = holders.get(uid);
    return entry == null ? Optional.empty() : Optional.ofNullable(entry.holds.get(uid));
  }

  /** Creates a tentative hold; its R is the pod's own, or else that of the placement's GPUs. */
  Hold tentative(PodFacts pod, NodeEntry entry, Placement placement, long nowMs) {
    int replicasPerGpu = entry.replicasPerGpu(pod, placement);
    return Hold.tentative(
        pod.uid(),
        pod.key(),
        entry.name,
        pod.resource(),
        placement,
        replicasPerGpu,
        nowMs,
        nowMs + timing.tentativeMs());
  }

  void put(NodeEntry entry, Hold hold) {
    entry.changed();
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
    entry.echoed.remove(uid);
    entry.checks.remove(uid);
    if (hold.stage() != Stage.TENTATIVE && !hold.confirmed()) {
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

  /** Returns whether the API server has bound the pod. */
  boolean bound(String uid) {
    return hold(uid).filter(h -> h.stage() == Stage.BOUND).isPresent();
  }

  /** Returns whether the pod is bound, or being bound. */
  boolean boundOrBinding(String uid) {
    return hold(uid).filter(h -> h.stage() != Stage.TENTATIVE).isPresent();
  }

  /** Returns the node's entry; creates an empty one for an unknown node. */
  NodeEntry entry(String name) {
    return nodes.computeIfAbsent(name, n -> new NodeEntry(n, changes));
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
