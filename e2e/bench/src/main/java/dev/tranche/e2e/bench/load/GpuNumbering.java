package dev.tranche.e2e.bench.load;

import dev.tranche.api.Names;
import dev.tranche.api.node.Gpu;
import dev.tranche.e2e.bench.plane.ClusterObjects;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Numbers the GPUs of the nodes, and describes the pods and their names. */
final class GpuNumbering {
  static final int NODES = 25;
  static final int REPLICAS = 10;

  private static final long MIB = 1L << 20;

  /** The usable memory of a GPU of {@link ClusterObjects}. */
  static final long MEMORY_BYTES = 40 * 1024 * MIB - 600 * MIB;

  private static final String PREFIX = "load-";

  private record Place(String node, String uuid) {}

  private final Map<String, List<Gpu>> gpus = ClusterObjects.gpus(NODES);
  private final List<Place> places = new ArrayList<>();
  private final Map<String, Integer> byUuid = new HashMap<>();

  GpuNumbering() {
    gpus.forEach(
        (node, all) ->
            all.forEach(
                gpu -> {
                  byUuid.put(gpu.getUuid(), places.size());
                  places.add(new Place(node, gpu.getUuid()));
                }));
  }

  /** Returns what the nodes report at first. */
  Map<String, List<Gpu>> gpus() {
    return gpus;
  }

  Iterable<String> nodes() {
    return gpus.keySet();
  }

  int count() {
    return places.size();
  }

  String node(int gpu) {
    return places.get(gpu).node();
  }

  String uuid(int gpu) {
    return places.get(gpu).uuid();
  }

  int byUuid(String uuid) {
    Integer gpu = byUuid.get(uuid);
    if (gpu == null) {
      throw new IllegalArgumentException("no GPU " + uuid);
    }
    return gpu;
  }

  /**
   * Returns a node's GPU with the least allocated; a kubelet by itself would choose a worse one.
   */
  int leastAllocated(String node, SimulatedUse use) {
    int best = -1;
    for (int gpu = 0; gpu < places.size(); gpu++) {
      if (node(gpu).equals(node) && (best < 0 || use.replicas(gpu) < use.replicas(best))) {
        best = gpu;
      }
    }
    return best;
  }

  static String podName(Workload.Pod pod) {
    return PREFIX + pod.number();
  }

  static int podNumber(String name) {
    return Integer.parseInt(name.substring(PREFIX.length()));
  }

  /** Returns the pod as it is after admission by the webhook. */
  static String json(Workload.Pod pod) {
    String resource = "\"%s\":\"%d\"".formatted(Names.RESOURCE, pod.replicas());
    return """
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","labels":{"%s":"true"},
    "annotations":{"%s":"0.%d","%s":"%d"}},
    "spec":{"terminationGracePeriodSeconds":0,"containers":[{"name":"main","image":"registry.example.com/main:v1",
    "resources":{"requests":{"cpu":"100m","memory":"128Mi",%s},"limits":{%s}}}]}}
    """
        .formatted(
            podName(pod),
            ClusterObjects.LABEL,
            Names.GPU_FRACTION,
            pod.replicas(),
            Names.REPLICAS_PER_GPU,
            REPLICAS,
            resource,
            resource);
  }
}
