package dev.tranche.extender.stream;

import dev.tranche.api.node.NodeReport;

/** Hears what nodes say after the Ledger has, on its loop. */
public interface ReportListener {
  void reported(String node, NodeReport whole);

  /** A brief report: the node says that all but its load is as it was. */
  void reportedAgain(String node);
}
