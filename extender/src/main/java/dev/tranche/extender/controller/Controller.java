package dev.tranche.extender.controller;

import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.watch.WatchedNode;
import dev.tranche.extender.watch.WatchedPod;

/**
 * Compares what it learns of nodes and pods with what the API server has, and writes the
 * difference. Called on the loop, except {@link #podSeen} and {@link #podGone}, which are called on
 * the thread of the watch.
 */
public interface Controller {
  /** Handles a node's whole report. */
  default void reported(String node, NodeReport whole) {}

  /** Handles a Node as last watched. */
  default void nodeSeen(WatchedNode node) {}

  default void nodeGone(String node) {}

  default void podSeen(WatchedPod pod) {}

  default void podGone(String uid) {}

  /** Called once a second. */
  default void tick() {}

  /** Goes through all pods or all nodes, in a turn of its own. */
  default void everyTenSeconds() {}
}
