package dev.tranche.extender.state;

import dev.tranche.extender.ledger.Assignment;
import io.vertx.core.Future;

/** The node plugins, as the verbs need them. */
public interface NodePlugins {
  /** Completes when the node has applied it; fails without a live stream or in time. */
  Future<Void> assign(String node, Assignment assignment);

  /** The config that the node's label selects now; empty without a label. */
  void configure(String node, String config);

  /** The node is no more. */
  void forget(String node);

  /** Best effort: an assignment that is not retracted expires. */
  void retract(String node, String uid);
}
