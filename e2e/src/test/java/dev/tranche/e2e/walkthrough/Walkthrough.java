package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.cluster.Cluster;
import dev.tranche.e2e.cluster.Node;
import dev.tranche.e2e.cluster.Output;
import dev.tranche.e2e.cluster.TestImages;
import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.Sizing;
import dev.tranche.e2e.scenario.Inspection;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * One reader at a terminal: a cluster as the guide has it, a folder with this repository's charts
 * and deploy beside it, {@code kubectl} and {@code helm} on the path, and the commands of a page.
 *
 * <p>Between the page and the simulated cluster stands one thing: {@code helm} is told by a wrapper
 * where the simulated driver lies, as a real one would by its place, and which image to take.
 */
final class Walkthrough implements AutoCloseable {
  static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /** What pages call the image of a pod that does nothing. */
  private static final String IMAGE = "busybox:1.37";

  private final Page page;
  private final Terminal terminal;
  private final Cluster cluster;
  private final Map<String, NodeGpus> gpus;

  private Walkthrough(Page page, Terminal terminal, Cluster cluster, Map<String, NodeGpus> gpus) {
    this.page = page;
    this.terminal = terminal;
    this.cluster = cluster;
    this.gpus = gpus;
  }

  /**
   * @param nodes the GPUs of each, the server first
   * @param adjust what else the nodes are
   */
  static Walkthrough start(
      String file, Map<String, List<Model>> nodes, UnaryOperator<Node> adjust) {
    var artifacts = Artifacts.of(ROOT);
    String name = "walkthrough-" + UUID.randomUUID().toString().substring(0, 8);
    Path folder = ROOT.resolve("target/walkthroughs").resolve(name);
    var gpus = new LinkedHashMap<String, NodeGpus>();
    var builder =
        Cluster.builder()
            .withQuickKubelets()
            .name(name)
            .imageTar(TestImages.busybox())
            .imageTar(TestImages.kubeScheduler())
            .imageTar(artifacts.imageTar());
    nodes.forEach(
        (node, models) -> {
          Path driver = folder.resolve(node);
          gpus.put(node, NodeGpus.create(driver, artifacts.fakeNvml(), node, models));
          NodeGpus.addMps(driver, artifacts.tool("fakemps"));
          builder.node(adjust.apply(Node.of(node).driver(driver)));
        });
    Cluster cluster = builder.start();
    nodes.forEach(
        (node, models) -> {
          nameImage(cluster, node, TestImages.BUSYBOX, "library/" + IMAGE);
          makeDeviceNodes(cluster, node, models.size());
        });
    var terminal = Terminal.open(folder.resolve("terminal"), artifacts, cluster.kubeconfigYaml());
    return new Walkthrough(Page.of(ROOT, file), terminal, cluster, gpus);
  }

  /**
   * One node of two GPUs.
   *
   * @param podResources the folder that the node has at its kubelet's pod-resources
   */
  static Walkthrough start(String file, String node, Path podResources) {
    return start(
        file,
        Map.of(node, List.of(Model.T4, Model.T4)),
        of -> of.mount(podResources, "/var/lib/kubelet/pod-resources"));
  }

  /** Where the driver is; PASS_DEVICE_SPECS gives them to containers. */
  private static void makeDeviceNodes(Cluster cluster, String node, int gpus) {
    cluster
        .exec(
            node,
            "sh",
            "-c",
            "mkdir -p %1$s; cd %1$s; for i in $(seq 0 %2$d); do mknod -m 666 nvidia$i c 195 $i; done; mknod -m 666 nvidiactl c 195 255"
                .formatted(Node.DRIVER_ROOT + "/dev", gpus - 1))
        .orFail("making device nodes");
  }

  /** Gives an image another name on a node. */
  void nameImage(String node, String image, String name) {
    nameImage(cluster, node, image, name);
  }

  private static void nameImage(Cluster cluster, String node, String image, String name) {
    cluster
        .exec(
            node,
            "k3s",
            "ctr",
            "-n",
            "k8s.io",
            "images",
            "tag",
            "docker.io/" + image,
            "docker.io/" + name)
        .orFail("naming an image");
  }

  /** Types what stands under a heading; fails unless all of it succeeds. */
  String type(String heading) {
    Output output = terminal.type(page.commands(heading));
    return output.exitCode() == 0 ? output.out() : output.orFail(heading + "\n" + state() + "\n");
  }

  /** What a reader would look at next. */
  private String state() {
    return Stream.of(
            "get pods -A -o wide",
            "get pods -A -o custom-columns=POD:.metadata.name,GPUS:.spec.containers[*].resources.limits,ANNOTATIONS:.metadata.annotations",
            "get events -A --sort-by=.lastTimestamp",
            "get nodes --show-labels",
            "-n kube-system logs -l app.kubernetes.io/component=extender --all-containers --tail=60")
        .map(command -> cluster.kubectl(command.split(" ")))
        .map(output -> output.out() + output.err())
        .collect(Collectors.joining("\n"));
  }

  /** Types what a reader would type by themselves. */
  String typeOwn(String commands) {
    return terminal.type(commands).orFail(commands);
  }

  /** Whether what stands under a heading succeeds. */
  boolean succeeds(String heading) {
    return terminal.type(page.commands(heading)).exitCode() == 0;
  }

  Terminal terminal() {
    return terminal;
  }

  Cluster cluster() {
    return cluster;
  }

  KubernetesClient client() {
    return cluster.client();
  }

  NodeGpus gpus(String node) {
    return Objects.requireNonNull(gpus.get(node), node);
  }

  int allocatable(String node, String resource) {
    Quantity quantity =
        client().nodes().withName(node).get().getStatus().getAllocatable().get(resource);
    return quantity == null ? 0 : Integer.parseInt(quantity.getAmount());
  }

  void awaitAllocatable(String node, int replicas) {
    Await.until(
        "allocatable %s of %s to be %d".formatted(Names.RESOURCE, node, replicas),
        90,
        () -> allocatable(node, Names.RESOURCE) == replicas,
        () ->
            "it is %d\n%s"
                .formatted(
                    allocatable(node, Names.RESOURCE),
                    cluster.kubectl("get", "pods", "-A", "-o", "wide").out()));
  }

  void awaitLabel(String node, String label, String value) {
    Await.until(
        "%s=%s on %s".formatted(label, value, node),
        120,
        () -> value.equals(labels(node).get(label)),
        () -> labels(node).toString());
  }

  /** Both the node's label and the webhook say so. */
  void awaitReplicas(String node, int replicas) {
    awaitLabel(node, Names.LABEL_REPLICAS, Integer.toString(replicas));
    Sizing.await(client(), "default", replicas);
  }

  Map<String, String> labels(String node) {
    return client().nodes().withName(node).get().getMetadata().getLabels();
  }

  List<Pod> pods(String namespace, String label, String value) {
    return client().pods().inNamespace(namespace).withLabel(label, value).list().getItems();
  }

  void awaitPhase(int count, String phase, String namespace, String label, String value) {
    Await.until(
        "%d pods with %s=%s to be %s".formatted(count, label, value, phase),
        120,
        () ->
            pods(namespace, label, value).stream()
                    .filter(pod -> pod.getStatus().getPhase().equals(phase))
                    .count()
                == count,
        () ->
            cluster.kubectl("-n", namespace, "describe", "pods", "-l", label + "=" + value).out()
                + cluster.kubectl("-n", namespace, "get", "events").out());
  }

  /** What each extender replica believes; those that do not answer yet are left out. */
  Inspection inspection(String namespace) {
    return Inspection.of(
        cluster.client(), pods(namespace, "app.kubernetes.io/component", "extender"));
  }

  /** The uuids that the container runtime gave to a pod's first container. */
  Set<String> injected(Pod pod) {
    var uuids =
        cluster.injections(pod.getSpec().getNodeName()).stream()
            .filter(injection -> injection.podUid().equals(pod.getMetadata().getUid()))
            .flatMap(injection -> injection.uuids().stream())
            .toList();
    assertThat(uuids).as("a GPU is injected once").doesNotHaveDuplicates();
    return new TreeSet<>(uuids);
  }

  /** What a pod's first container was started with. */
  String environment(Pod pod) {
    var of = pod.getMetadata();
    return cluster
        .kubectl("-n", of.getNamespace(), "exec", of.getName(), "--", "env")
        .orFail("asking " + of.getName());
  }

  /** Words of a column listing, without its heading. */
  static List<List<String>> rows(String table) {
    return table.lines().skip(1).map(line -> Arrays.asList(line.trim().split("\\s+"))).toList();
  }

  /** After an uninstallation. */
  void nothingIsLeft(String ofNode) {
    var node = client().nodes().withName(ofNode).get().getMetadata();
    assertThat(node.getLabels().keySet()).noneMatch(key -> key.startsWith("nvidia.com/"));
    assertThat(node.getAnnotations().keySet()).noneMatch(key -> key.startsWith("tranche.dev/"));
    String names =
        cluster
            .kubectl(
                "get",
                "secrets,configmaps,leases,jobs,clusterroles,clusterrolebindings,"
                    + "mutatingwebhookconfigurations,validatingadmissionpolicies,"
                    + "validatingadmissionpolicybindings",
                "-A",
                "-o",
                "name")
            .orFail("looking for what is left");
    assertThat(names.lines()).noneMatch(name -> name.contains("tranche"));
  }

  @Override
  public void close() {
    cluster.close();
  }
}
