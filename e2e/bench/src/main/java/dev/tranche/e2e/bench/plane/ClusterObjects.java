package dev.tranche.e2e.bench.plane;

import dev.tranche.api.Names;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuLoad;
import dev.tranche.api.node.Health;
import dev.tranche.api.node.SharingStrategy;
import dev.tranche.e2e.install.Await;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Nodes and pods that look like those of a real cluster, as the objects that the API server has.
 */
public final class ClusterObjects {
  /** The namespace of all pods. */
  public static final String NAMESPACE = "default";

  /** The label of the pods that are to be placed. */
  public static final String LABEL = "bench";

  private static final int GPUS = 8;
  private static final int REPLICAS = 10;
  private static final int IMAGES = 50;
  private static final int LABELS = 20;
  private static final int AT_ONCE = 8;
  private static final int APPS = 50;
  private static final long MEMORY_MIB = 40L << 10;
  private static final long RESERVED_MIB = 600;

  private ClusterObjects() {}

  public static String nodeName(int i) {
    return "node-%05d".formatted(i);
  }

  /** Creates nodes with eight GPUs of ten replicas each. */
  public static void createNodes(KubernetesClient client, int count) {
    create(client, "/api/v1/nodes", count, ClusterObjects::node);
  }

  /** Creates pods without GPUs that are already bound to the nodes. */
  public static void createForeignPods(KubernetesClient client, int count, int nodes) {
    create(
        client,
        "/api/v1/namespaces/" + NAMESPACE + "/pods",
        count,
        i -> pod("foreign-" + i, "app", "\"nodeName\":\"" + nodeName(i % nodes) + "\",", ""));
  }

  /** Creates pods that wait for a scheduler, each for one replica. They belong to 50 apps. */
  public static void createPods(KubernetesClient client, String run, int count) {
    create(
        client,
        "/api/v1/namespaces/" + NAMESPACE + "/pods",
        count,
        i -> pod(run + "-" + i, LABEL, "", ",\"nvidia.com/gpu\":\"1\""));
  }

  /** Deletes the pods with a label, and returns when they are gone. */
  public static void deletePods(KubernetesClient client, String label) {
    var pods = client.pods().inNamespace(NAMESPACE).withLabel(label);
    pods.withGracePeriod(0).delete();
    Await.until("the pods to be gone", 300, () -> pods.list().getItems().isEmpty());
  }

  /** Creates {@code count} objects, some at a time. */
  public static void create(
      KubernetesClient client, String path, int count, IntFunction<String> json) {
    try (var workers = Executors.newFixedThreadPool(AT_ONCE)) {
      var done =
          IntStream.range(0, count)
              .mapToObj(i -> workers.submit(() -> client.raw(path, "POST", json.apply(i))))
              .toList();
      for (var each : done) {
        each.get();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    } catch (java.util.concurrent.ExecutionException e) {
      throw new IllegalStateException("creating " + path, e);
    }
  }

  private static String node(int i) {
    String labels =
        IntStream.range(0, LABELS)
            .mapToObj(k -> "\"example.com/label-%02d\":\"value-%d-%d\"".formatted(k, k, i % 7))
            .collect(Collectors.joining(","));
    String images =
        IntStream.range(0, IMAGES)
            .mapToObj(
                k ->
                    "{\"names\":[\"registry.example.com/team-%d/image-%d@sha256:%064x\",\"registry.example.com/team-%d/image-%d:v1.%d\"],\"sizeBytes\":%d}"
                        .formatted(k, k, k * 7919L + 1, k, k, k, 90_000_000L + k))
            .collect(Collectors.joining(","));
    String resources =
        "{\"cpu\":\"96\",\"memory\":\"1Ti\",\"pods\":\"250\",\"ephemeral-storage\":\"2Ti\",\"nvidia.com/gpu\":\"%d\"}"
            .formatted(GPUS * REPLICAS);
    return """
    {"apiVersion":"v1","kind":"Node","metadata":{"name":"%1$s","labels":{"kubernetes.io/hostname":"%1$s","topology.kubernetes.io/zone":"zone-%2$d","node.kubernetes.io/instance-type":"p4d.24xlarge",%3$s,%6$s},"annotations":{"tranche.dev/node-labels":"%7$s"}},
    "status":{"capacity":%4$s,"allocatable":%4$s,"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"}],"images":[%5$s]}}
    """
        .formatted(
            nodeName(i),
            i % 3,
            labels,
            resources,
            images,
            gpuLabels("\"", "\":\""),
            gpuLabels("", "="));
  }

  /** Returns the labels that an earlier run of the extender has left. */
  private static String gpuLabels(String quote, String between) {
    var labels = new TreeMap<String, String>();
    labels.put("nvidia.com/gpu.count", Integer.toString(GPUS));
    labels.put("nvidia.com/gpu.memory", Long.toString(MEMORY_MIB));
    labels.put("nvidia.com/gpu.present", "true");
    labels.put("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-SHARED");
    labels.put("nvidia.com/gpu.replicas", Integer.toString(REPLICAS));
    labels.put("nvidia.com/gpu.sharing-strategy", "time-slicing");
    labels.put(Names.LABEL_GPUS, Integer.toString(GPUS));
    labels.put(Names.LABEL_MEMORY_USABLE, Long.toString(MEMORY_MIB - RESERVED_MIB));
    return labels.entrySet().stream()
        .map(e -> quote + e.getKey() + between + e.getValue() + quote)
        .collect(Collectors.joining(","));
  }

  private static String pod(String name, String label, String spec, String resource) {
    return """
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","labels":{"%s":"true","app":"app-%d"}},
    "spec":{%s"terminationGracePeriodSeconds":0,"containers":[{"name":"main","image":"registry.example.com/team-1/image-1:v1.1",
    "resources":{"requests":{"cpu":"100m","memory":"128Mi"%s},"limits":{"memory":"128Mi"%s}}}]}}
    """
        .formatted(name, label, Math.floorMod(name.hashCode(), APPS), spec, resource, resource);
  }

  private static int smPercent(long node, long gpu) {
    return (int) ((node * 31 + gpu * 17) % 60);
  }

  /** Returns what the plugins of these nodes report, with loads that differ between GPUs. */
  public static Map<String, List<Gpu>> gpus(int nodes) {
    var all = new LinkedHashMap<String, List<Gpu>>();
    for (int i = 0; i < nodes; i++) {
      var gpus = new ArrayList<Gpu>();
      for (int k = 0; k < GPUS; k++) {
        gpus.add(gpu(new UUID(i, k), k, smPercent(i, k)));
      }
      all.put(nodeName(i), gpus);
    }
    return all;
  }

  private static Gpu gpu(UUID id, int index, int smPercent) {
    return Gpu.newBuilder()
        .setUuid("GPU-" + id)
        .setIndex(index)
        .setModel("NVIDIA A100-SXM4-40GB")
        .setMemoryTotalBytes(MEMORY_MIB << 20)
        .setMemoryReservedBytes(RESERVED_MIB << 20)
        .setResource("nvidia.com/gpu")
        .setReplicas(REPLICAS)
        .setShared(true)
        .setSharingStrategy(SharingStrategy.SHARING_STRATEGY_TIME_SLICING)
        .setHealth(Health.HEALTH_HEALTHY)
        .setLoad(load(smPercent, 0))
        .build();
  }

  public static GpuLoad load(double smPercent, long memoryUsedBytes) {
    return GpuLoad.newBuilder()
        .setSampledAtMs(System.currentTimeMillis())
        .setSmUtilizationPercent((int) smPercent)
        .setSmUtilizationMeanPercent((float) smPercent)
        .setMemoryUsedBytes(memoryUsedBytes)
        .build();
  }
}
