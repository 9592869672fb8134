package dev.tranche.extender.ledger;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One event's work: its time, what it decided, and the room that nodes had before. */
final class Transition {
  private final long nowMs;
  private final List<Decision> decisions = new ArrayList<>();
  private final Map<NodeInfo, Map<String, NodeView.Gpu>> before = new LinkedHashMap<>();

  Transition(long nowMs) {
    this.nowMs = nowMs;
  }

  long nowMs() {
    return nowMs;
  }

  void say(Decision decision) {
    decisions.add(decision);
  }

  /** Must come before a change to the node. */
  void touch(NodeInfo node) {
    if (!before.containsKey(node)) {
      before.put(node, node.room());
    }
    node.changed();
  }

  /** All decisions, with those nodes that have more room now. */
  List<Decision> done() {
    before.forEach(this::grew);
    return decisions;
  }

  private void grew(NodeInfo node, Map<String, NodeView.Gpu> roomBefore) {
    boolean grew =
        node.room().entrySet().stream()
            .anyMatch(now -> grewSince(roomBefore.get(now.getKey()), now.getValue()));
    if (grew) {
      decisions.add(new Decision.RoomGrew(node.name));
    }
  }

  /**
   * Whether a pod may fit now that did not before. What pods that are not known use of memory
   * counts beside the replicas that they take, and no more once they are known.
   */
  private static boolean grewSince(NodeView.@Nullable Gpu before, NodeView.Gpu now) {
    if (now.freeReplicas() == 0 || now.freeClients() == 0) {
      return false;
    }
    return before == null
        || now.freeReplicas() > before.freeReplicas()
        || now.freeClients() > before.freeClients()
        || now.strayReplicas() < before.strayReplicas();
  }
}
