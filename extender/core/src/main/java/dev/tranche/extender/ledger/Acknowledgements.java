package dev.tranche.extender.ledger;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Decides which nodes are offered no pods because they do not acknowledge assignments. If more than
 * half of the nodes have failed of late, the fault is probably ours, and none is left out. A node
 * that is the only one is never left out either, since there is no other to prefer.
 */
public final class Acknowledgements {
  /** One node that fails proves nothing about the others. */
  private static final int FAILING_MIN = 2;

  private final LedgerState ledgerState;

  /** Of the nodes whose last assignment was not acknowledged. */
  private final Map<NodeEntry, AckBackoff> failing = new LinkedHashMap<>();

  // Volatile, since metrics and readiness are read on other threads.
  private volatile boolean mostFail;
  private volatile int backedOff;

  Acknowledgements(LedgerState ledgerState) {
    this.ledgerState = ledgerState;
  }

  /** Returns a sentence while most nodes do not acknowledge; may be called on any thread. */
  public Optional<String> mostMissing() {
    return mostFail
        ? Optional.of(
            "most nodes do not acknowledge assignments in time, so the cause is probably here or in"
                + " the network; see this extender's CPU and log")
        : Optional.empty();
  }

  /** Returns the number of nodes in backoff; may be called on any thread. */
  public int backedOff() {
    return backedOff;
  }

  void acknowledged(Transition step, String node) {
    NodeEntry entry = ledgerState.nodes.get(node);
    // Without a failure it is as one that failed long ago, which the review forgets.
    if (entry != null && failing.replace(entry, new AckBackoff()) != null) {
      review(step);
    }
  }

  void failed(Transition step, String node, long sentAtMs) {
    NodeEntry entry = ledgerState.nodes.get(node);
    if (entry == null) {
      return;
    }
    AckBackoff known = failing.get(entry);
    // While most fail, none is left out, so nothing doubles.
    AckBackoff acks = known == null || mostFail ? new AckBackoff() : known;
    long ms = acks.failed(sentAtMs, step.nowMs);
    if (ms > 0) {
      failing.put(entry, acks);
      review(step);
      if (entry.backedOff) {
        step.emit(new Decision.BackedOff(node, ms));
      }
    }
  }

  void tick(Transition step) {
    if (!failing.isEmpty()) {
      review(step);
    }
  }

  /** Applies the time that has passed, and what all nodes together say. */
  private void review(Transition step) {
    List<NodeEntry> before = List.copyOf(failing.keySet());
    failing.values().removeIf(acks -> acks.old(step.nowMs));
    failing.keySet().removeIf(e -> ledgerState.nodes.get(e.name) != e);
    long live = ledgerState.nodes.values().stream().filter(entry -> entry.live).count();
    long liveFailing =
        failing.entrySet().stream()
            .filter(each -> each.getKey().live && each.getValue().recent(step.nowMs))
            .count();
    boolean most = 2 * liveFailing > live;
    mostFail = most && liveFailing >= FAILING_MIN;
    for (NodeEntry entry : before) {
      AckBackoff acks = failing.get(entry);
      boolean now = !most && acks != null && acks.active(step.nowMs);
      if (entry.backedOff != now) {
        step.beforeChange(entry);
        entry.backedOff = now;
      }
    }
    backedOff = (int) failing.keySet().stream().filter(e -> e.backedOff).count();
  }
}
