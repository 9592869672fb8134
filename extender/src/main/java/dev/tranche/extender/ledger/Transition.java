package dev.tranche.extender.ledger;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One event's work: its time, what it decided, and the room that nodes had before. */
final class Transition {
  private final long nowMs;
  private final List<Decision> decisions = new ArrayList<>();
  private final Map<NodeInfo, Map<String, GpuRoom>> before = new LinkedHashMap<>();

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

  private void grew(NodeInfo node, Map<String, GpuRoom> roomBefore) {
    boolean grew =
        node.room().entrySet().stream()
            .anyMatch(now -> now.getValue().grewSince(roomBefore.get(now.getKey())));
    if (grew) {
      decisions.add(new Decision.RoomGrew(node.name));
    }
  }
}
