package dev.tranche.nodeplugin.usage;

import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.Holding;
import dev.tranche.nodeplugin.gpu.ContainerUse;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The part of each GPU that containers hold, according to the kubelet.
 *
 * @param shares by uuid and {@code namespace/pod/container}: 0 to 1
 */
public record Grants(Map<String, Map<String, Double>> shares) {
  /**
   * @param holdings with the replicas per GPU that they were granted in
   */
  public static Grants of(List<Holding> holdings) {
    Map<String, Map<String, Double>> shares = new HashMap<>();
    for (Holding holding : holdings) {
      String key = holding.getNamespace() + "/" + holding.getPod() + "/" + holding.getContainer();
      for (String id : holding.getDeviceIdsList()) {
        shares
            .computeIfAbsent(ReplicaId.uuidOf(id), uuid -> new HashMap<>())
            .merge(key, 1.0 / holding.getReplicasPerGpu(), Double::sum);
      }
    }
    return new Grants(shares);
  }

  /**
   * Returns 0 to 1; 0 for a container of a pod that holds no part of this GPU. A container without
   * an entry may use what its pod has: the kubelet does not list an init container, though it holds
   * what the pod's containers get later.
   */
  public double share(String uuid, ContainerUse use) {
    Map<String, Double> here = shares.getOrDefault(uuid, Map.of());
    Double own = here.get(use.key());
    return own != null ? own : ofPod(here, use.podKey() + "/");
  }

  private static double ofPod(Map<String, Double> here, String prefix) {
    double sum = 0;
    for (var entry : here.entrySet()) {
      sum += entry.getKey().startsWith(prefix) ? entry.getValue() : 0;
    }
    return Math.min(1, sum);
  }

  /** Pods that hold a part of this GPU, as {@code namespace/pod}. */
  Set<String> pods(String uuid) {
    Set<String> pods = new TreeSet<>();
    shares
        .getOrDefault(uuid, Map.of())
        .keySet()
        .forEach(key -> pods.add(key.substring(0, key.lastIndexOf('/'))));
    return pods;
  }
}
