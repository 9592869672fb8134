package dev.tranche.e2e.install;

import com.marcnuri.helm.Helm;
import dev.tranche.api.Names;
import dev.tranche.e2e.cluster.Cluster;
import dev.tranche.e2e.cluster.Node;
import dev.tranche.e2e.cluster.TestImages;
import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.gpu.NodeGpus;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A cluster of GPU nodes with all of Tranche on it, installed from the chart as a user does it. */
public final class Tranche implements AutoCloseable {
  public static final String NAMESPACE = "tranche";
  public static final int DEFAULT_REPLICAS_PER_GPU = 20;
  public static final int REPLICAS_PER_GPU = 10;
  private static final int METRICS_PORT = 30090;
  private static final int READY_S = 180;
  private static final String MODE = "extender.mode";
  private static final String SERVICE = "service";
  private static final String KUBELET_ROOT = "kubeletRoot";

  private final Artifacts artifacts;
  private final Plan plan;
  private final Cluster cluster;
  private final Map<String, NodeGpus> gpus;
  private final @Nullable ExistingScheduler existing;

  /**
   * @param folder the folder for the nodes' drivers and sockets, which only this cluster uses; it
   *     names the cluster
   * @param nodes the GPUs of each node, the server first
   * @param busy makes GPUs busy before anything measures them, since a mean begins with its first
   *     reading
   * @param values chart values, in addition to those that a simulated cluster needs. If {@code
   *     extender.mode} is among them, the cluster's own kube-scheduler is configured accordingly,
   *     now and by a later {@link #install}. If {@code kubeletRoot} is, the kubelets have that root
   *     directory
   * @param progress is called with each step
   */
  public record Plan(
      Path folder,
      Map<String, List<Model>> nodes,
      Consumer<Map<String, NodeGpus>> busy,
      Map<String, Object> values,
      boolean kept,
      Consumer<String> progress) {
    /**
     * The same for each run of a checkout, so that one removes what another left behind, and not
     * that of another checkout. {@code ./demo} finds its own from everywhere.
     */
    String clusterName() {
      String name = String.valueOf(folder.getFileName());
      return kept ? name : name + "-" + Integer.toHexString(folder.hashCode());
    }

    private String kubeletRoot() {
      return String.valueOf(values.getOrDefault(KUBELET_ROOT, "/var/lib/kubelet"));
    }

    /** The demo has the chart's default; the figures of tests follow from another number. */
    private int replicas() {
      return kept ? DEFAULT_REPLICAS_PER_GPU : REPLICAS_PER_GPU;
    }

    private Path schedulerFolder() {
      return folder.resolve("scheduler");
    }
  }

  private Tranche(
      Artifacts artifacts,
      Plan plan,
      Cluster cluster,
      Map<String, NodeGpus> gpus,
      @Nullable ExistingScheduler existing) {
    this.artifacts = artifacts;
    this.plan = plan;
    this.cluster = cluster;
    this.gpus = gpus;
    this.existing = existing;
  }

  /** Starts a cluster, and returns when every part is ready and every node offers its replicas. */
  public static Tranche start(Artifacts artifacts, Plan plan) {
    return start(artifacts, plan, Cluster.builder());
  }

  /**
   * @param builder of a cluster that has no nodes yet
   */
  public static Tranche start(Artifacts artifacts, Plan plan, Cluster.Builder builder) {
    plan.progress().accept("starting " + plan.nodes().size() + " nodes");
    var gpus = new LinkedHashMap<String, NodeGpus>();
    builder
        .name(plan.clusterName())
        .imageTar(TestImages.busybox())
        .imageTar(TestImages.kubeScheduler())
        .imageTar(artifacts.imageTar())
        .nodePort(METRICS_PORT);
    var existing =
        plan.values().containsKey(MODE) ? new ExistingScheduler(plan.schedulerFolder()) : null;
    if (existing != null) {
      builder.serverArg(ExistingScheduler.serverArg());
    }
    if (plan.values().containsKey(KUBELET_ROOT)) {
      builder.kubeletArg("root-dir=" + plan.kubeletRoot());
    }
    plan.nodes()
        .forEach(
            (node, models) -> {
              Path driver = plan.folder().resolve(node).resolve("driver");
              gpus.put(node, NodeGpus.create(driver, artifacts.fakeNvml(), node, models));
              Node of =
                  Node.of(node)
                      .driver(driver)
                      .mount(podResources(plan, node), plan.kubeletRoot() + "/pod-resources");
              builder.node(
                  existing == null
                      ? of
                      : of.mount(plan.schedulerFolder(), ExistingScheduler.MOUNT));
            });
    plan.busy().accept(gpus);
    if (plan.kept()) {
      builder.keepRunning();
    }
    var tranche = new Tranche(artifacts, plan, builder.start(), gpus, existing);
    plan.progress().accept("installing the chart");
    tranche.install(Map.of());
    return tranche;
  }

  private static Path podResources(Plan plan, String node) {
    try {
      return Files.createDirectories(plan.folder().resolve(node).resolve("pod-resources"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Edits the node plugin's config while it runs. */
  public void setNodePluginConfig(String text) {
    client()
        .configMaps()
        .inNamespace(NAMESPACE)
        .withName("tranche-config")
        .edit(map -> map.edit().addToData("default", text).build());
    // A change of the pod makes the kubelet look at its ConfigMap at once.
    cluster
        .kubectl(
            "-n",
            NAMESPACE,
            "annotate",
            "pods",
            "-l",
            "app.kubernetes.io/component=node-plugin",
            "tranche.dev/touched=" + UUID.randomUUID(),
            "--overwrite")
        .orFail("touching the node plugins");
  }

  /**
   * Installs or upgrades the chart, and returns when every part is ready.
   *
   * @param values in addition to the plan's; a value that only an earlier call has set returns to
   *     its default
   */
  public void install(Map<String, Object> values) {
    int colon = artifacts.image().lastIndexOf(':');
    var helm =
        new Helm(artifacts.chart())
            .upgrade()
            .install()
            .withName("tranche")
            .withNamespace(NAMESPACE)
            .createNamespace()
            .waitReady()
            .withTimeout(READY_S)
            .withKubeConfig(kubeconfig())
            .set("image.repository", artifacts.image().substring(0, colon))
            .set("image.tag", artifacts.image().substring(colon + 1))
            .set("replicas", plan.replicas())
            .set("nvidiaDriverRoot", Node.DRIVER_ROOT)
            .set("extender.metricsNodePort", METRICS_PORT);
    plan.values().forEach(helm::set);
    values.forEach(helm::set);
    try {
      helm.call();
    } catch (IllegalStateException notReady) {
      throw new IllegalStateException(unready(), notReady);
    }
    // Helm accepts a DaemonSet that lacks a node.
    plan.progress().accept("waiting for the parts to be ready");
    Await.until("the parts to be ready", READY_S, this::isReady, this::unready);
    plan.progress().accept("waiting for the nodes to offer their replicas");
    Await.until("allocatable replicas", 60, this::isAllocatable, () -> allocatable().toString());
    if (existing != null) {
      boolean service = SERVICE.equals(values.getOrDefault(MODE, plan.values().get(MODE)));
      Path shipped = artifacts.root().resolve("deploy/scheduler-existing.yaml");
      existing.apply(cluster, service ? shipped : null);
    }
  }

  /** Whether the cluster's own kube-scheduler places pods that ask for a GPU. */
  public boolean usesExistingScheduler() {
    return existing != null && existing.isUsed();
  }

  /**
   * Returns whether all is ready and no old pod is left: an API server calls a webhook until it has
   * drained.
   */
  public boolean isReady() {
    return client().pods().inNamespace(NAMESPACE).list().getItems().stream()
            .allMatch(pod -> pod.getMetadata().getDeletionTimestamp() == null)
        && client().apps().deployments().inNamespace(NAMESPACE).list().getItems().stream()
            .allMatch(Tranche::ready)
        && client().apps().daemonSets().inNamespace(NAMESPACE).list().getItems().stream()
            .allMatch(
                d ->
                    d.getStatus().getDesiredNumberScheduled() == gpus.size()
                        && gpus.size() == orZero(d.getStatus().getNumberReady()));
  }

  private static boolean ready(Deployment deployment) {
    return orZero(deployment.getStatus().getReadyReplicas()) == deployment.getSpec().getReplicas();
  }

  /** Returns the pods and events of all parts, for a message. */
  public String unready() {
    return cluster.kubectl("-n", NAMESPACE, "get", "pods", "-o", "wide").out()
        + cluster.kubectl("-n", NAMESPACE, "get", "events").out();
  }

  private boolean isAllocatable() {
    return allocatable().entrySet().stream()
        .allMatch(e -> e.getValue() == gpus(e.getKey()).nonMigCount() * plan.replicas());
  }

  private static int orZero(@Nullable Integer number) {
    return number == null ? 0 : number;
  }

  /** A file for kubectl and Helm, in the plan's folder. */
  public Path kubeconfig() {
    try {
      return Files.writeString(plan.folder().resolve("kubeconfig"), cluster.kubeconfigYaml());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Replicas per node as the API server tells them. */
  public Map<String, Integer> allocatable() {
    var allocatable = new LinkedHashMap<String, Integer>();
    for (String node : gpus.keySet()) {
      Quantity quantity =
          client().nodes().withName(node).get().getStatus().getAllocatable().get(Names.RESOURCE);
      allocatable.put(node, quantity == null ? 0 : Integer.parseInt(quantity.getAmount()));
    }
    return allocatable;
  }

  public Cluster cluster() {
    return cluster;
  }

  public KubernetesClient client() {
    return cluster.client();
  }

  public List<String> nodes() {
    return List.copyOf(gpus.keySet());
  }

  public NodeGpus gpus(String node) {
    NodeGpus of = gpus.get(node);
    if (of == null) {
      throw new IllegalArgumentException("no node " + node + "; nodes are " + gpus.keySet());
    }
    return of;
  }

  /** The kubelet's PodResources socket of a node, on this machine. */
  public Path podResourcesSocket(String node) {
    return podResources(plan, node).resolve("kubelet.sock");
  }

  /** Where an extender answers {@code /metrics}. */
  public String extenderUrl() {
    return cluster.nodePortUrl(METRICS_PORT);
  }

  /** Returns the answer of each extender replica's read API, without those that know nothing. */
  public List<LocalApi.Answer> queryReadApi(String path) {
    return LocalApi.all(client(), parts("extender"), path);
  }

  /** Returns a table of all GPUs, to help find out why a test waits. */
  public String gpuTables() {
    return queryReadApi("/api/v1/gpus?output=wide").toString();
  }

  /** Pods of one part: {@code webhook}, {@code extender} or {@code node-plugin}. */
  public List<Pod> parts(String part) {
    return client()
        .pods()
        .inNamespace(NAMESPACE)
        .withLabel("app.kubernetes.io/component", part)
        .list()
        .getItems();
  }

  /** What Prometheus would read of a pod of ours. */
  public String metrics(Pod pod) {
    String name = pod.getMetadata().getName();
    var http = client().getHttpClient();
    var url =
        "%sapi/v1/namespaces/%s/pods/%s:9090/proxy/metrics"
            .formatted(client().getMasterUrl(), NAMESPACE, name);
    var response =
        http.sendAsync(http.newHttpRequestBuilder().uri(url).build(), String.class).join();
    if (!response.isSuccessful()) {
      throw new IllegalStateException("no metrics of pod " + name);
    }
    return response.body();
  }

  @Override
  public void close() {
    cluster.close();
  }
}
