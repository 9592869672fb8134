package dev.tranche.extender.stream;

import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeReport;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Finds the held replicas that belong to an earlier config of the node. The node reports their part
 * of the GPU in current replicas ({@code withheld_replicas}), so they must not be counted twice.
 */
final class RetiredReplicas {
  private RetiredReplicas() {}

  /**
   * Returns such replicas by pod ({@code namespace/name}) and uuid, without pods that hold none.
   */
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
        if (gpu != null && !advertisesNow(gpu, holding.getResource(), id)) {
          retired
              .computeIfAbsent(
                  holding.getNamespace() + "/" + holding.getPod(), key -> new HashMap<>())
              .merge(gpu.getUuid(), 1, Integer::sum);
        }
      }
    }
    return retired;
  }

  private static boolean advertisesNow(Gpu gpu, String resource, String id) {
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
