package dev.tranche.extender.ledger;

import dev.tranche.extender.ledger.Nominations.Plan;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;

/** Ends what is due: holds, and what is remembered of ended pods. */
final class HoldExpiry {
  /** Limit of nodes in one tick. With more nodes, several ticks divide them. */
  static final int NODES_MAX = 1_000;

  private final LedgerState ledgerState;
  private final Nominations nominations;
  private final TerminatingPods terminatingPods;
  private final ReportApplier reports;
  private final Acknowledgements acknowledgements;

  /** The nodes that this round has not come to yet. */
  private Iterator<NodeEntry> left = Collections.emptyIterator();

  HoldExpiry(
      LedgerState ledgerState,
      Nominations nominations,
      TerminatingPods terminatingPods,
      ReportApplier reports,
      Acknowledgements acknowledgements) {
    this.ledgerState = ledgerState;
    this.nominations = nominations;
    this.terminatingPods = terminatingPods;
    this.reports = reports;
    this.acknowledgements = acknowledgements;
  }

  void tick(Transition step) {
    ledgerState.forgetGone(step.nowMs);
    acknowledgements.tick(step);
    if (!left.hasNext()) {
      left = List.copyOf(ledgerState.nodes.values()).iterator();
    }
    for (int count = 0; count < NODES_MAX && left.hasNext(); count++) {
      NodeEntry entry = left.next();
      try {
        tick(step, entry);
      } catch (RuntimeException bug) {
        step.emit(new Decision.Failed(entry.name, bug));
      }
    }
  }

  @SuppressWarnings("ReferenceEquality") // A node may be gone since the round began, or another.
  private void tick(Transition step, NodeEntry entry) {
    if (ledgerState.nodes.get(entry.name) != entry) {
      return;
    }
    if (!entry.ended.isEmpty()
        && entry.ended.values().removeIf(ended -> ended.listedUntilMs() <= step.nowMs)) {
      entry.changed();
    }
    if (entry.expiresFromMs <= step.nowMs) {
      expire(step, entry);
    }
    ledgerState.forget(entry);
  }

  /** Most holds never expire, and there are tens of thousands. */
  private void expire(Transition step, NodeEntry entry) {
    entry.expiresFromMs = Hold.NEVER;
    List.copyOf(entry.holds.values()).forEach(hold -> expireIfDue(step, entry, hold));
    for (Hold hold : entry.holds.values()) {
      entry.expiresFromMs = Math.min(entry.expiresFromMs, hold.expiresAtMs());
    }
  }

  private void expireIfDue(Transition step, NodeEntry entry, Hold hold) {
    if (hold.expiresAtMs() <= step.nowMs) {
      if (!hold.isTentative() || entry.echoed.containsKey(hold.uid())) {
        reports.check(step, entry, hold.uid(), hold.key());
        return;
      }
      Plan plan = nominations.current(hold.uid(), step.nowMs).orElse(null);
      if (plan != null && terminatingPods.haveGpusOf(hold, entry.holds.values(), step.nowMs)) {
        ledgerState.put(hold.until(nominations.expiryMs(plan, step.nowMs)));
        return;
      }
      nominations.remove(hold.uid());
      ledgerState.drop(step, hold.uid());
      step.emit(new Decision.Expired(entry.name, hold.key()));
    }
  }
}
