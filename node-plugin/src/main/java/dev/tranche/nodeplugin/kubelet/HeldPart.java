package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.GpuShare;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** What is left of the replicas that a pod is to hold of each GPU, while it is admitted. */
final class HeldPart {
  private final Map<String, Integer> left = new TreeMap<>();

  HeldPart(Assignment assignment) {
    assignment.getHeldList().forEach(s -> left.merge(s.getUuid(), s.getReplicas(), Integer::sum));
  }

  void remove(String uuid, int replicas) {
    left.merge(uuid, -replicas, Integer::sum);
  }

  /**
   * Takes so many replicas.
   *
   * @param first where to take them, if they are left there
   * @return the shares; empty if too few are left
   */
  List<GpuShare> take(Stream<GpuShare> first, int size) {
    Map<String, Integer> taken = new LinkedHashMap<>();
    int[] missing = {size};
    first.forEach(
        s -> missing[0] -= take(s.getUuid(), Math.min(s.getReplicas(), missing[0]), taken));
    for (String uuid : List.copyOf(left.keySet())) {
      missing[0] -= take(uuid, missing[0], taken);
    }
    List<GpuShare> shares = new ArrayList<>();
    taken.forEach(
        (uuid, n) -> shares.add(GpuShare.newBuilder().setUuid(uuid).setReplicas(n).build()));
    return missing[0] == 0 ? shares : List.of();
  }

  private int take(String uuid, int most, Map<String, Integer> taken) {
    int n = Math.min(most, left.getOrDefault(uuid, 0));
    if (n <= 0) {
      return 0;
    }
    remove(uuid, n);
    taken.merge(uuid, n, Integer::sum);
    return n;
  }
}
