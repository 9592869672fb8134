package dev.tranche.extender.ledger;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The processing of one event: its time, its decisions, and the free capacity of nodes before it.
 */
final class Transition {
  final long nowMs;
  private final List<Decision> decisions = new ArrayList<>();
  private final Map<NodeEntry, Map<String, NodeView.Gpu>> before = new LinkedHashMap<>();

  Transition(long nowMs) {
    this.nowMs = nowMs;
  }

  void emit(Decision decision) {
    decisions.add(decision);
  }

  /** Records the node's free capacity; must be called before the node changes. */
  void beforeChange(NodeEntry node) {
    if (!before.containsKey(node)) {
      before.put(node, placeableGpus(node));
    }
    node.changed();
  }

  /** Returns all decisions, including one for each node that has more free capacity now. */
  List<Decision> done() {
    before.forEach(this::grew);
    return decisions;
  }

  /** The event changes other nodes too, and must not end because one of them cannot be read. */
  private Map<String, NodeView.Gpu> placeableGpus(NodeEntry node) {
    try {
      return node.placeableGpus();
    } catch (RuntimeException bug) {
      emit(new Decision.Failed(node.name, bug));
      return Map.of();
    }
  }

  private void grew(NodeEntry node, Map<String, NodeView.Gpu> placeableBefore) {
    boolean grew =
        placeableGpus(node).entrySet().stream()
            .anyMatch(now -> grewSince(placeableBefore.get(now.getKey()), now.getValue()));
    if (grew) {
      decisions.add(new Decision.CapacityGrew(node.name));
    }
  }

  /**
   * Returns whether a pod may fit now that did not fit before. The memory that unknown pods use
   * counts in addition to their replicas, but no longer once they are known.
   */
  private static boolean grewSince(NodeView.@Nullable Gpu before, NodeView.Gpu now) {
    if (now.freeReplicas() == 0 || now.freeClients() == 0) {
      return false;
    }
    return before == null
        || recut(before.facts(), now.facts())
        || now.freeReplicas() > before.freeReplicas()
        || now.freeClients() > before.freeClients()
        || now.unattributedReplicas() < before.unattributedReplicas();
  }

  /** Fewer replicas of another R may be just what a pod was sized for. */
  private static boolean recut(GpuFacts before, GpuFacts now) {
    return before.replicas() != now.replicas() || !before.resource().equals(now.resource());
  }
}
