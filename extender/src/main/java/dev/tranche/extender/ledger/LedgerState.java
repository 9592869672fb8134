package dev.tranche.extender.ledger;

import dev.tranche.extender.ledger.Hold.Stage;
import dev.tranche.extender.placement.Placement;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What the {@link Ledger} knows, and its simplest changes: pods, pages of nodes, and their holds.
 */
final class LedgerState {
  private final Timing timing;
  private final ChangedNodes changes;
  final Map<String, NodeInfo> nodes = new HashMap<>();
  final Map<String, PodFacts> pods = new HashMap<>();

  /** By pod uid: the node with its hold. */
  final Map<String, NodeInfo> holders = new HashMap<>();

  /** Uids of pods that are gone, the oldest first, with the time when that is forgotten. */
  final LinkedHashMap<String, Long> tombstones = new LinkedHashMap<>();

  LedgerState(Timing timing, ChangedNodes changes) {
    this.timing = timing;
    this.changes = changes;
  }

  Optional<Hold> hold(String uid) {
    NodeInfo book = holders.get(uid);
    return book == null ? Optional.empty() : Optional.ofNullable(book.holds.get(uid));
  }

  /** Of a pod that is placed by what we know of the node now. */
  Hold tentative(PodFacts pod, NodeInfo book, Placement placement, long nowMs) {
    int replicasPerGpu = book.replicasPerGpu(pod, placement);
    return Hold.tentative(
        pod.uid(),
        pod.key(),
        book.name,
        pod.resource(),
        placement,
        replicasPerGpu,
        nowMs,
        nowMs + timing.tentativeMs());
  }

  void put(NodeInfo book, Hold hold) {
    book.changed();
    book.holds.put(hold.uid(), hold);
    holders.put(hold.uid(), book);
  }

  void drop(Transition step, String uid) {
    NodeInfo book = holders.remove(uid);
    Hold hold = book == null ? null : book.holds.get(uid);
    if (book == null || hold == null) {
      return;
    }
    step.touch(book);
    book.holds.remove(uid);
    book.reminded.remove(uid);
    book.echoed.remove(uid);
    book.checks.remove(uid);
    if (hold.stage() != Stage.TENTATIVE && !hold.confirmed()) {
      step.say(new Decision.Retract(book.name, uid));
    }
    forget(book);
  }

  /** Drops what was expected, and has the node forget an assignment that it still keeps. */
  void giveUp(Transition step, NodeInfo book, String uid) {
    boolean retracted = settled(uid);
    drop(step, uid);
    if (!retracted && book.echoes(uid)) {
      step.say(new Decision.Retract(book.name, uid));
    }
  }

  /** Whether the API server has it on its node. */
  boolean bound(String uid) {
    return hold(uid).filter(h -> h.stage() == Stage.BOUND).isPresent();
  }

  /** Whether it is bound, or being bound. */
  boolean settled(String uid) {
    return hold(uid).filter(h -> h.stage() != Stage.TENTATIVE).isPresent();
  }

  /** A node's page; of one never heard of a blank one. */
  NodeInfo book(String name) {
    return nodes.computeIfAbsent(name, n -> new NodeInfo(n, changes));
  }

  /** As far as there is something to forget. */
  void forgetGone(long nowMs) {
    var oldest = tombstones.values().iterator();
    while (oldest.hasNext() && oldest.next() <= nowMs) {
      oldest.remove();
    }
  }

  void forget(NodeInfo book) {
    if (book.forgettable()) {
      nodes.remove(book.name);
    }
  }
}
