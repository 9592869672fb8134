package dev.tranche.extender.stream;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.NodeReport;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The memory that the last whole reports of all nodes take, as the objects that are made of them.
 * If it is too much, the largest ones go, so that many small nodes leave room for each other.
 * Confined to the streams' loop.
 */
final class KeptReports {
  private static final int GPU_BYTES = 1_000;
  private static final int HOLDING_BYTES = 700;
  private static final int USE_BYTES = 300;
  private static final int ASSIGNMENT_BYTES = 1_400;
  private static final int CONTAINER_BYTES = 300;
  private static final int SHARE_BYTES = 100;

  private final long bytesMax;
  private final Map<String, Integer> bytesByNode = new HashMap<>();

  /** Read on another thread. */
  private volatile long bytes;

  KeptReports(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  long bytes() {
    return bytes;
  }

  /**
   * Records a node's whole report.
   *
   * @return the nodes whose reports there is no room for; perhaps the sender's
   */
  Set<String> put(String node, NodeReport report) {
    set(node, bytes(report));
    var without = new HashSet<String>();
    while (bytes > bytesMax && !bytesByNode.isEmpty()) {
      String largest =
          bytesByNode.entrySet().stream()
              .max(Comparator.comparingInt(Map.Entry::getValue))
              .orElseThrow()
              .getKey();
      remove(largest);
      without.add(largest);
    }
    return without;
  }

  void remove(String node) {
    set(node, 0);
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // Written on one loop only.
  private void set(String node, int size) {
    Integer before = size == 0 ? bytesByNode.remove(node) : bytesByNode.put(node, size);
    bytes += size - (before == null ? 0 : before);
  }

  static int bytes(NodeReport report) {
    int bytes = 2 * report.getSerializedSize();
    for (Gpu gpu : report.getGpusList()) {
      bytes += GPU_BYTES + USE_BYTES * gpu.getPodUsesCount();
    }
    bytes += HOLDING_BYTES * report.getHoldingsCount();
    for (Assignment assignment : report.getAssignmentsList()) {
      bytes += ASSIGNMENT_BYTES;
      for (var container : assignment.getContainersList()) {
        bytes += CONTAINER_BYTES + SHARE_BYTES * container.getSharesCount();
      }
    }
    return bytes;
  }
}
