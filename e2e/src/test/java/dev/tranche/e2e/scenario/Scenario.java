package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.api.ReplicaId;
import dev.tranche.e2e.cluster.Cluster;
import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.Namespaces;
import dev.tranche.e2e.install.PodProcesses;
import dev.tranche.e2e.install.Tranche;
import dev.tranche.e2e.kubelet.KubeletTruth;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * A test's view of one cluster that all scenarios share: three nodes of two equal GPUs each, ten
 * replicas per GPU, everything idle and empty when a test begins.
 */
@TestInstance(TestInstance.Lifecycle.PER_METHOD)
@ResourceLock(Scenario.CLUSTER)
abstract class Scenario {
  /** The scenarios share one cluster, and therefore run one after the other. */
  static final String CLUSTER = "the scenarios' cluster";

  static final String ALPHA = "alpha";
  static final String BETA = "beta";
  static final String GAMMA = "gamma";
  static final int RUNNING_SECONDS = 60;

  private static final String MODE = "extender.mode";

  /** {@code scheduler}, or {@code service} for the cluster's own kube-scheduler. */
  private static final String GIVEN_MODE = System.getProperty("tranche.extender.mode", "scheduler");

  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /** Started by the first scenario, removed when the tests' process ends. */
  private static final class Shared {
    static final Tranche TRANCHE = start();
    private static @Nullable Map<String, Object> installed = Map.of();

    private static Tranche start() {
      var nodes = new LinkedHashMap<String, List<Model>>();
      for (String node : List.of(ALPHA, BETA, GAMMA)) {
        nodes.put(node, List.of(Model.T4, Model.T4));
      }
      var plan =
          new Tranche.Plan(
              ROOT.resolve("target/scenarios"),
              nodes,
              // As Hopper and newer; the others have none.
              gpus -> gpus.get(BETA).addGpm(0),
              // ConfigE2E has the default, whole GPUs.
              Map.of(
                  MODE,
                  GIVEN_MODE,
                  "nodePlugin.healthQuietPeriod",
                  "30s",
                  "plainRequests",
                  "replicas"),
              false,
              step -> {});
      Tranche tranche =
          Tranche.start(Artifacts.of(ROOT), plan, Cluster.builder().withQuickKubelets());
      Runtime.getRuntime().addShutdownHook(new Thread(tranche::close));
      return tranche;
    }

    /** Unless the last test had the same values. */
    static void install(Map<String, Object> values) {
      if (!values.equals(installed)) {
        installed = null;
        TRANCHE.install(values);
        installed = values;
      }
    }
  }

  final String namespace = "s-" + UUID.randomUUID().toString().substring(0, 8);

  static Tranche tranche() {
    return Shared.TRANCHE;
  }

  static KubernetesClient client() {
    return tranche().client();
  }

  /** Runs kubectl as the administrator, and returns what it prints. */
  static String kubectl(String... arguments) {
    return tranche().cluster().kubectl(arguments).orFail("kubectl " + String.join(" ", arguments));
  }

  /** A test that needs the cluster's own kube-scheduler, whatever is given. */
  interface InServiceMode {}

  /** Of the chart, beside those that all scenarios have. */
  Map<String, Object> values() {
    return this instanceof InServiceMode ? Map.of(MODE, "service") : Map.of();
  }

  @BeforeEach
  void openNamespace() {
    Shared.install(values());
    tranche().nodes().forEach(node -> tranche().gpus(node).idle());
    Namespaces.create(client(), namespace);
  }

  @AfterEach
  void closeNamespace() {
    var pods = client().pods().inNamespace(namespace);
    pods.withGracePeriod(0).delete();
    Await.until("the pods to be gone", 60, () -> pods.list().getItems().isEmpty());
    client().namespaces().withName(namespace).delete();
  }

  Pod create(PodBuilder pod) {
    return create(pod.build());
  }

  Pod create(Pod pod) {
    return client().pods().inNamespace(namespace).resource(pod).create();
  }

  Pod get(String name) {
    Pod pod = client().pods().inNamespace(namespace).withName(name).get();
    assertThat(pod).as("pod %s", name).isNotNull();
    return pod;
  }

  void delete(String name) {
    client().pods().inNamespace(namespace).withName(name).withGracePeriod(0).delete();
  }

  /** The pod, once it runs. */
  Pod running(String name) {
    Await.until(
        name + " to run",
        RUNNING_SECONDS,
        () -> "Running".equals(get(name).getStatus().getPhase()),
        () -> tranche().cluster().kubectl("-n", namespace, "describe", "pod", name).out());
    return get(name);
  }

  void allRunning(int count) {
    Await.until(
        count + " pods to run",
        180,
        () -> phases().getOrDefault("Running", 0L) == count,
        () -> phases() + tranche().cluster().kubectl("-n", namespace, "get", "events").out());
  }

  Map<String, Long> phases() {
    return pods().stream()
        .collect(Collectors.groupingBy(p -> p.getStatus().getPhase(), Collectors.counting()));
  }

  List<Pod> pods() {
    return client().pods().inNamespace(namespace).list().getItems();
  }

  /**
   * Waits until the scheduler has said of a pod that it cannot be placed, and returns its words.
   */
  String pendingMessage(String name) {
    Await.until(name + " to be rejected", RUNNING_SECONDS, () -> rejection(name).isPresent());
    return rejection(name).orElseThrow();
  }

  private Optional<String> rejection(String name) {
    return get(name).getStatus().getConditions().stream()
        .filter(c -> c.getType().equals("PodScheduled") && c.getStatus().equals("False"))
        .map(c -> c.getMessage())
        .findFirst();
  }

  List<Event> events(String pod) {
    return client().v1().events().inNamespace(namespace).list().getItems().stream()
        .filter(e -> e.getInvolvedObject().getName().equals(pod))
        .toList();
  }

  /** Of a node, as the kubelet's are: in the namespace {@code default}. */
  static Stream<Event> nodeEvents(String node, String reason) {
    return client().v1().events().inNamespace("default").list().getItems().stream()
        .filter(e -> e.getInvolvedObject().getName().equals(node))
        .filter(e -> e.getReason().equals(reason));
  }

  /** What the extender promised: {@code tranche.dev/gpu}. */
  static Set<String> assigned(Pod pod) {
    String gpus = pod.getMetadata().getAnnotations().get(Names.GPU);
    assertThat(gpus).as("%s of %s", Names.GPU, pod.getMetadata().getName()).isNotNull();
    return new TreeSet<>(Arrays.asList(gpus.split(",")));
  }

  /** What the kubelet says that a pod's containers hold: the truth. */
  Map<String, List<String>> held(Pod pod) {
    return KubeletTruth.of(tranche().podResourcesSocket(pod.getSpec().getNodeName()))
        .devices(namespace, pod.getMetadata().getName());
  }

  Set<String> heldGpus(Pod pod) {
    return held(pod).values().stream()
        .flatMap(List::stream)
        .map(ReplicaId::uuidOf)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** What a container's process sees. */
  String visibleDevices(Pod pod, String container) {
    var output =
        tranche()
            .cluster()
            .kubectl(
                "-n",
                namespace,
                "exec",
                pod.getMetadata().getName(),
                "-c",
                container,
                "--",
                "sh",
                "-c",
                "echo $NVIDIA_VISIBLE_DEVICES");
    return output.orFail("asking " + pod.getMetadata().getName()).strip();
  }

  /** Who places pods that ask for a GPU. */
  static String scheduler() {
    return tranche().usesExistingScheduler() ? "default-scheduler" : Names.SCHEDULER;
  }

  static String nodeOf(Pod pod) {
    return pod.getSpec().getNodeName();
  }

  /** The lines that a node's plugin shows to Prometheus. */
  static Stream<String> pluginMetrics(String node) {
    return tranche().parts("node-plugin").stream()
        .filter(plugin -> node.equals(nodeOf(plugin)))
        .flatMap(plugin -> tranche().metrics(plugin).lines());
  }

  /** The metric that says how much GPU memory a pod of the test uses. */
  Optional<String> usedMemory(String node, String pod) {
    return pluginMetrics(node)
        .filter(line -> line.startsWith("tranche_container_gpu_memory_used_bytes"))
        .filter(line -> line.contains("namespace=\"" + namespace + "\""))
        .filter(line -> line.contains("pod=\"" + pod + "\""))
        .findFirst();
  }

  /** Of the pod's process, as its node numbers it. */
  static int pid(Pod pod) {
    return PodProcesses.onNode(tranche().cluster(), pod);
  }
}
