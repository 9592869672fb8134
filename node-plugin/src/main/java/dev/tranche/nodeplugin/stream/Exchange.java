package dev.tranche.nodeplugin.stream;

import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;

/** What a stream says and what it is told. Called on the event loop. */
public interface Exchange {
  /** The whole state now; sequence and applied directive are the stream's to fill. */
  NodeReport.Builder report();

  void apply(NodeDirective directive);
}
