package dev.tranche.e2e.bench.packing;

import dev.tranche.api.Names;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuLoad;
import dev.tranche.api.node.Health;
import dev.tranche.api.node.SharingStrategy;
import dev.tranche.e2e.bench.plane.ClusterObjects;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * A trace's nodes and pods as the API server has them once our webhook has seen them.
 *
 * @param replicas per GPU
 */
public record TraceObjects(Trace trace, int replicas) {
  private static final long GPU_MEMORY_BYTES = 16L << 30;

  public void createNodes(KubernetesClient client) {
    List<Trace.Node> nodes = trace.nodes();
    ClusterObjects.create(client, "/api/v1/nodes", nodes.size(), i -> node(nodes.get(i)));
  }

  private String node(Trace.Node node) {
    String resources =
        "{\"cpu\":\"%dm\",\"memory\":\"%dMi\",\"pods\":\"10000\",\"%s\":\"%d\"}"
            .formatted(node.cpuMilli(), node.memoryMib(), Names.RESOURCE, node.gpus() * replicas);
    return """
    {"apiVersion":"v1","kind":"Node","metadata":{"name":"%1$s","labels":{"kubernetes.io/hostname":"%1$s"}},
    "status":{"capacity":%2$s,"allocatable":%2$s,"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"}]}}
    """
        .formatted(node.name(), resources);
  }

  /** Replicas of each GPU that a pod gets: rounded up, as the webhook does. */
  private int share(Trace.Pod pod) {
    return (int) (((long) pod.gpuMilli() * replicas + 999) / 1_000);
  }

  public String pod(String name, Trace.Pod pod) {
    String gpus =
        pod.gpus() == 0 ? "" : ",\"%s\":\"%d\"".formatted(Names.RESOURCE, pod.gpus() * share(pod));
    return """
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","annotations":%s},
    "spec":{"terminationGracePeriodSeconds":0,"containers":[{"name":"main","image":"registry.example.com/main:v1",
    "resources":{"requests":{"cpu":"%dm","memory":"%dMi"%s},"limits":{%s}}}]}}
    """
        .formatted(
            name,
            pod.gpus() == 0 ? "{}" : annotations(pod).encode(),
            pod.cpuMilli(),
            pod.memoryMib(),
            gpus,
            gpus.isEmpty() ? "" : gpus.substring(1));
  }

  private JsonObject annotations(Trace.Pod pod) {
    String fraction = pod.gpuMilli() == 1_000 ? "1" : "0.%03d".formatted(pod.gpuMilli());
    var annotations =
        JsonObject.of(
            Names.GPU_FRACTION, fraction,
            Names.GPU_COUNT, Integer.toString(pod.gpus()),
            Names.REPLICAS_PER_GPU, Integer.toString(replicas));
    return pod.models().isEmpty() ? annotations : annotations.put(Names.GPU_MODEL, pod.models());
  }

  /** What the plugins of the nodes report. */
  public Map<String, List<Gpu>> gpus() {
    var all = new LinkedHashMap<String, List<Gpu>>();
    for (int i = 0; i < trace.nodes().size(); i++) {
      var gpus = new ArrayList<Gpu>();
      for (int k = 0; k < trace.nodes().get(i).gpus(); k++) {
        gpus.add(gpu(new UUID(i, k), k, trace.nodes().get(i).model()));
      }
      all.put(trace.nodes().get(i).name(), gpus);
    }
    return all;
  }

  private Gpu gpu(UUID id, int index, String model) {
    return Gpu.newBuilder()
        .setUuid("GPU-" + id)
        .setIndex(index)
        .setModel(model)
        .setMemoryTotalBytes(GPU_MEMORY_BYTES)
        .setResource(Names.RESOURCE)
        .setReplicas(replicas)
        .setShared(true)
        .setSharingStrategy(SharingStrategy.SHARING_STRATEGY_TIME_SLICING)
        .setHealth(Health.HEALTH_HEALTHY)
        .setLoad(GpuLoad.newBuilder().setSampledAtMs(System.currentTimeMillis()).build())
        .build();
  }
}
