package dev.tranche.webhook.metrics;

import dev.tranche.process.meters.PartFailures;

/** Unexpected exceptions that one node causes. That node is left out, and all others count. */
public final class NodeFailures extends PartFailures<NodeFailures.Part> {
  /** What has failed. */
  public enum Part {
    /** The reading of one node. */
    NODE
  }

  public NodeFailures(WebhookMetrics metrics) {
    super(
        metrics,
        "tranche.webhook.failures",
        "Unexpected errors that ended the reading of one node; all others count",
        Part.class);
  }

  /** Runs the work on one node. An exception ends only that. */
  public void onNode(String node, Runnable work) {
    run(Part.NODE, "node " + node, work);
  }
}
