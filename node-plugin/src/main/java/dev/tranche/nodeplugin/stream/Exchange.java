package dev.tranche.nodeplugin.stream;

import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;

/** Provides the reports of a stream and takes its directives. Called on the event loop. */
public interface Exchange {
  /** Returns the whole current state; the stream fills in sequence and applied directive. */
  NodeReport.Builder report();

  void apply(NodeDirective directive);
}
