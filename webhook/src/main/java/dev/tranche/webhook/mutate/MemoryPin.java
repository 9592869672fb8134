package dev.tranche.webhook.mutate;

import dev.tranche.api.Names;
import dev.tranche.webhook.nodes.GpuNode;
import java.util.List;

/**
 * The nodes on which the replicas of a request by memory have the computed size, or more.
 *
 * @param totalsMib the labelled memory totals; empty allows every node
 * @param leastMib the least labelled memory total; 0 allows every node
 * @param exceptUsableMib labels of usable memory on which the share is another one, although the
 *     total is one of those
 */
record MemoryPin(List<String> totalsMib, int leastMib, List<String> exceptUsableMib) {
  static final MemoryPin NONE = new MemoryPin(List.of(), 0, List.of());

  boolean admits(GpuNode node) {
    return (totalsMib.isEmpty()
            || totalsMib.contains(node.labels().getOrDefault(Names.LABEL_MEMORY, "")))
        && (leastMib == 0 || node.memoryMib().orElse(0) >= leastMib)
        && !exceptUsableMib.contains(node.labels().getOrDefault(Names.LABEL_MEMORY_USABLE, ""));
  }

  /**
   * Keeps the pod on these nodes. This is required even if all nodes agree: on a GPU with other
   * memory, the replicas would be another amount.
   */
  void require(NodeAffinityPatch affinity) {
    if (!totalsMib.isEmpty()) {
      affinity.require(Names.LABEL_MEMORY, "In", totalsMib);
    }
    if (leastMib > 0) {
      affinity.require(Names.LABEL_MEMORY, "Gt", List.of(String.valueOf(leastMib - 1)));
    }
    if (!exceptUsableMib.isEmpty()) {
      affinity.require(Names.LABEL_MEMORY_USABLE, "NotIn", exceptUsableMib);
    }
  }
}
