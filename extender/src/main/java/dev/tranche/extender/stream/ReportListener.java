package dev.tranche.extender.stream;

import dev.tranche.api.node.NodeReport;

/** Receives the nodes' reports after the Ledger, on the Ledger's loop. */
public interface ReportListener {
  void reported(String node, NodeReport whole);

  /** Called for a brief report: nothing but the node's load has changed. */
  void reportedAgain(String node);
}
