package dev.tranche.extender.state;

import dev.tranche.extender.ledger.Assignment;
import io.vertx.core.Future;

/** What the verbs need of the node plugins. */
public interface NodePlugins {
  /**
   * Sends an assignment. Completes when the node has applied it; fails without a live stream or
   * after a timeout. It completes on the loop.
   */
  Future<Void> assign(String node, Assignment assignment);

  /** Sets the config that the node's label selects now; empty without a label. */
  void configure(String node, String config);

  /** Forgets a node that no longer exists. */
  void forget(String node);

  /** Retracts an assignment, best effort: one that is not retracted expires. */
  void retract(String node, String uid);
}
