package dev.tranche.e2e.bench.load;

import dev.tranche.api.Names;
import dev.tranche.api.node.Gpu;
import dev.tranche.e2e.bench.plane.Population;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Which GPU of which node has which number; pods and their names. */
final class SimulatedGpus {
  static final int NODES = 25;
  static final int REPLICAS = 10;

  private static final long MIB = 1L << 20;

  /** Usable, of a {@link Population}'s GPU. */
  static final long MEMORY_BYTES = 40 * 1024 * MIB - 600 * MIB;

  private static final String PREFIX = "load-";

  private record Place(String node, String uuid) {}

  private final Map<String, List<Gpu>> gpus = Population.gpus(NODES);
  private final List<Place> places = new ArrayList<>();
  private final Map<String, Integer> byUuid = new HashMap<>();

  SimulatedGpus() {
    gpus.forEach(
        (node, all) ->
            all.forEach(
                gpu -> {
                  byUuid.put(gpu.getUuid(), places.size());
                  places.add(new Place(node, gpu.getUuid()));
                }));
  }

  /** What the nodes report at first. */
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

  /** Of a node, the GPU with the least allocated: better than a kubelet by itself would choose. */
  int leastAllocated(String node, RealUse use) {
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

  /** As the webhook leaves it. */
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
            Population.LABEL,
            Names.GPU_FRACTION,
            pod.replicas(),
            Names.REPLICAS_PER_GPU,
            REPLICAS,
            resource,
            resource);
  }
}
