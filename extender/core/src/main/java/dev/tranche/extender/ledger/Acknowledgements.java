package dev.tranche.extender.ledger;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Decides which nodes are offered no pods because they do not acknowledge assignments. If more than
 * half of the nodes have failed of late, the fault is probably ours, and none is left out. A node
 * that is the only one is never left out either, since there is no other to prefer.
 */
public final class Acknowledgements {
  /** One node that fails proves nothing about the others. */
  private static final int FAILING_MIN = 2;

  private final LedgerState ledgerState;
  private final Set<NodeEntry> failing = new LinkedHashSet<>();

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
    if (entry != null && failing.contains(entry)) {
      entry.acks.acknowledged();
      review(step);
    }
  }

  void failed(Transition step, String node, long sentAtMs) {
    NodeEntry entry = ledgerState.nodes.get(node);
    if (entry == null) {
      return;
    }
    if (mostFail) {
      // None is left out, so nothing doubles.
      entry.acks.acknowledged();
    }
    long ms = entry.acks.failed(sentAtMs, step.nowMs);
    if (ms > 0) {
      failing.add(entry);
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
    failing.forEach(entry -> entry.acks.forgetIfOld(step.nowMs));
    List<NodeEntry> before = List.copyOf(failing);
    failing.removeIf(e -> !e.acks.failing() || ledgerState.nodes.get(e.name) != e);
    long live = ledgerState.nodes.values().stream().filter(entry -> entry.live).count();
    long liveFailing = failing.stream().filter(e -> e.live && e.acks.recent(step.nowMs)).count();
    boolean most = 2 * liveFailing > live;
    mostFail = most && liveFailing >= FAILING_MIN;
    for (NodeEntry entry : before) {
      boolean now = !most && entry.acks.active(step.nowMs);
      if (entry.backedOff != now) {
        step.beforeChange(entry);
        entry.backedOff = now;
      }
    }
    backedOff = (int) failing.stream().filter(e -> e.backedOff).count();
  }
}
