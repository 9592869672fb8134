package dev.tranche.extender.stream;

import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeReport;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Which of the replicas that a node's containers hold are of an earlier config. The node says in
 * replicas of now how much of the GPU they are ({@code withheld_replicas}), so they must not be
 * counted a second time.
 */
final class RetiredReplicas {
  private RetiredReplicas() {}

  /** Replicas by pod ({@code namespace/name}) and uuid; pods that hold none are left out. */
  static Map<String, Map<String, Integer>> of(NodeReport report) {
    if (report.getHoldingsCount() == 0) {
      return Map.of();
    }
    Map<String, Gpu> gpus =
        report.getGpusList().stream().collect(Collectors.toMap(Gpu::getUuid, g -> g, (a, b) -> a));
    var retired = new HashMap<String, Map<String, Integer>>();
    for (Holding holding : report.getHoldingsList()) {
      for (String id : holding.getDeviceIdsList()) {
        Gpu gpu = gpus.get(ReplicaId.uuidOf(id));
        if (gpu != null && !makes(gpu, holding.getResource(), id)) {
          retired
              .computeIfAbsent(
                  holding.getNamespace() + "/" + holding.getPod(), key -> new HashMap<>())
              .merge(gpu.getUuid(), 1, Integer::sum);
        }
      }
    }
    return retired;
  }

  private static boolean makes(Gpu gpu, String resource, String id) {
    try {
      ReplicaId replica = ReplicaId.parse(id);
      return gpu.getResource().equals(resource)
          && replica.shared() == gpu.getShared()
          && replica.ordinal() < gpu.getReplicas();
    } catch (IllegalArgumentException malformed) {
      return false;
    }
  }
}
