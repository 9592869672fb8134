package dev.tranche.extender.ledger;

import dev.tranche.extender.invariant.ObservedCluster;
import java.util.Collection;
import java.util.List;

/** Shows what the Ledger has as the invariants need it. Confined to the Ledger's thread. */
public final class LedgerObserver {
  private final LedgerState ledgerState;

  LedgerObserver(LedgerState ledgerState) {
    this.ledgerState = ledgerState;
  }

  /** Returns a node with its pods; empty for an unknown node. */
  public ObservedCluster node(String name) {
    NodeEntry entry = ledgerState.nodes.get(name);
    return entry == null
        ? new ObservedCluster(List.of(), List.of(), List.of())
        : NodeObserver.observe(entry, ledgerState.pods);
  }

  /** Returns those of some pods that are on a node, and that the Ledger records nothing of. */
  public ObservedCluster withoutHold(Collection<PodFacts> some) {
    List<ObservedCluster.Pod> without =
        some.stream()
            .filter(pod -> pod.node() != null && !pod.ended())
            .filter(pod -> ledgerState.hold(pod.uid()).isEmpty())
            .map(NodeObserver::withoutHold)
            .toList();
    return new ObservedCluster(List.of(), without, List.of());
  }
}
