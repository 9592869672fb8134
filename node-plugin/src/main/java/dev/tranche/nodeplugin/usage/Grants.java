package dev.tranche.nodeplugin.usage;

import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.Holding;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The part of each GPU that containers hold, according to the kubelet.
 *
 * @param shares by uuid and container: 0 to 1
 */
public record Grants(Map<String, Map<ContainerName, Double>> shares) {
  /**
   * @param holdings with the replicas per GPU that they were granted in
   */
  public static Grants of(List<Holding> holdings) {
    Map<String, Map<ContainerName, Double>> shares = new HashMap<>();
    for (Holding holding : holdings) {
      ContainerName container = ContainerName.of(holding);
      for (String id : holding.getDeviceIdsList()) {
        shares
            .computeIfAbsent(ReplicaId.uuidOf(id), uuid -> new HashMap<>())
            .merge(container, 1.0 / holding.getReplicasPerGpu(), Double::sum);
      }
    }
    return new Grants(shares);
  }

  /**
   * Returns 0 to 1; 0 for a container of a pod that holds no part of this GPU. A container without
   * an entry may use what its pod has: the kubelet does not list an init container, though it holds
   * what the pod's containers get later.
   */
  public double share(String uuid, ContainerName container) {
    Map<ContainerName, Double> here = shares.getOrDefault(uuid, Map.of());
    Double own = here.get(container);
    return own != null ? own : ofPod(here, container.pod());
  }

  private static double ofPod(Map<ContainerName, Double> here, PodName pod) {
    double sum =
        here.entrySet().stream()
            .filter(of -> of.getKey().pod().equals(pod))
            .mapToDouble(Map.Entry::getValue)
            .sum();
    return Math.min(1, sum);
  }

  /** Returns the pods that hold a part of this GPU. */
  Stream<PodName> pods(String uuid) {
    return shares.getOrDefault(uuid, Map.of()).keySet().stream().map(ContainerName::pod);
  }
}
