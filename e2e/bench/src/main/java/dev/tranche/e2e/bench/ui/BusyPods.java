package dev.tranche.e2e.bench.ui;

import dev.tranche.api.Names;
import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuLoad;
import dev.tranche.api.node.GpuShare;
import dev.tranche.api.node.PodUse;
import dev.tranche.e2e.bench.plane.ClusterObjects;
import dev.tranche.e2e.bench.plane.SimulatedNodes;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Pods on the GPUs of {@link ClusterObjects}, and their use, which never stays the same. A third of
 * the GPUs has no pod, a third one, and a third two.
 */
public final class BusyPods implements AutoCloseable {
  private static final int NAMESPACES = 8;
  private static final int PODS_MAX = 3;
  private static final String RESOURCE = "nvidia.com/gpu";

  /**
   * How many seconds each GPU's load lasts. Nodes report as often, so each report has new values.
   */
  private static final int TURNS = 5;

  private static final long POD_BYTES = 6L << 30;
  private static final int STEP_PERCENT = 15;

  /** Two fit on a GPU. */
  private static final int POD_PERCENT_MAX = 50;

  /** A pod. Its use changes, and nothing else does. */
  private static final class Pod {
    private final String namespace;
    private final String name;
    private final int replicas;
    private int smPercent;

    Pod(String namespace, String name, int replicas, int smPercent) {
      this.namespace = namespace;
      this.name = name;
      this.replicas = replicas;
      this.smPercent = smPercent;
    }
  }

  private record BusyGpu(String node, String uuid, List<Pod> pods) {}

  private final Random random = new Random(42);
  private final List<BusyGpu> gpus = new ArrayList<>();
  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
  private int turn;

  /**
   * @param nodes of {@link ClusterObjects#gpus}
   */
  public BusyPods(Map<String, List<Gpu>> nodes) {
    nodes.forEach((node, its) -> its.forEach(gpu -> gpus.add(busy(node, gpu.getUuid()))));
  }

  private BusyGpu busy(String node, String uuid) {
    int number = gpus.size();
    var pods = new ArrayList<Pod>();
    for (int i = 0; i < number % PODS_MAX; i++) {
      String name = "trainer-%d-%d".formatted(number, i);
      pods.add(
          new Pod("team-" + number % NAMESPACES, name, 3 + i, random.nextInt(POD_PERCENT_MAX)));
    }
    return new BusyGpu(node, uuid, pods);
  }

  /** Creates the pods, bound to their nodes. */
  public void createPods(KubernetesClient client) {
    ClusterObjects.create(
        client,
        "/api/v1/namespaces",
        NAMESPACES,
        i ->
            "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"team-%d\"}}"
                .formatted(i));
    Map<String, List<String>> pods =
        gpus.stream()
            .flatMap(gpu -> gpu.pods().stream().map(pod -> Map.entry(pod, gpu)))
            .collect(
                Collectors.groupingBy(
                    each -> each.getKey().namespace,
                    Collectors.mapping(
                        each -> json(each.getKey(), each.getValue()), Collectors.toList())));
    pods.forEach(
        (namespace, its) ->
            ClusterObjects.create(
                client, "/api/v1/namespaces/" + namespace + "/pods", its.size(), its::get));
  }

  private static String json(Pod pod, BusyGpu gpu) {
    return """
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","annotations":{"%s":"0.%d","%s":"10","%s":"%s"}},
    "spec":{"nodeName":"%s","terminationGracePeriodSeconds":0,"containers":[{"name":"main",
    "image":"registry.example.com/team-1/image-1:v1.1","resources":{"limits":{"%s":"%3$d"}}}]}}
    """
        .formatted(
            pod.name,
            Names.GPU_FRACTION,
            pod.replicas,
            Names.REPLICAS_PER_GPU,
            Names.GPU,
            gpu.uuid(),
            gpu.node(),
            RESOURCE);
  }

  /** Makes the kubelets admit the pods, and from now on changes all loads every five seconds. */
  public void start(SimulatedNodes nodes) {
    for (BusyGpu gpu : gpus) {
      gpu.pods().forEach(pod -> nodes.hold(gpu.node(), assignment(pod, gpu.uuid())));
    }
    var _ = clock.scheduleAtFixedRate(() -> change(nodes), 0, 1, TimeUnit.SECONDS);
  }

  private static Assignment assignment(Pod pod, String uuid) {
    var share = GpuShare.newBuilder().setUuid(uuid).setReplicas(pod.replicas);
    return Assignment.newBuilder()
        .setPodUid(pod.namespace + "/" + pod.name)
        .setNamespace(pod.namespace)
        .setPod(pod.name)
        .setResource(RESOURCE)
        .setReplicasPerGpu(10)
        .addContainers(ContainerAssignment.newBuilder().setContainer("main").addShares(share))
        .build();
  }

  private void change(SimulatedNodes nodes) {
    int perTurn = gpus.size() / TURNS + 1;
    int from = turn % TURNS * perTurn;
    turn++;
    gpus.subList(Math.min(from, gpus.size()), Math.min(from + perTurn, gpus.size()))
        .forEach(gpu -> change(gpu, nodes));
  }

  private void change(BusyGpu gpu, SimulatedNodes nodes) {
    List<PodUse> uses = gpu.pods().stream().map(this::use).toList();
    double smPercent = uses.stream().mapToDouble(PodUse::getSmUtilizationPercent).sum();
    long bytes = uses.stream().mapToLong(PodUse::getMemoryUsedBytes).sum();
    // GPUs without a pod have a small load, too.
    GpuLoad load = ClusterObjects.load(uses.isEmpty() ? random.nextInt(3) : smPercent, bytes);
    nodes.load(gpu.node(), gpu.uuid(), load, uses);
  }

  private PodUse use(Pod pod) {
    int step = random.nextInt(2 * STEP_PERCENT + 1) - STEP_PERCENT;
    pod.smPercent = Math.clamp(pod.smPercent + step, 0, POD_PERCENT_MAX);
    return PodUse.newBuilder()
        .setNamespace(pod.namespace)
        .setPod(pod.name)
        .setContainer("main")
        .setSmUtilizationPercent(pod.smPercent)
        .setMemoryUsedBytes(POD_BYTES + ((long) random.nextInt(1024) << 20))
        .build();
  }

  @Override
  public void close() {
    clock.shutdownNow();
  }
}
