package dev.tranche.e2e.machine;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Names;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.LocalApi;
import dev.tranche.e2e.install.Namespaces;
import io.fabric8.kubernetes.api.model.ContainerStatus;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.readiness.Readiness;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The cluster of one node that {@code ./demo --gpu} starts, and pods in its namespace. */
final class GpuNode implements AutoCloseable {
  static final String TRANCHE = "tranche";
  private static final String NAMESPACE = "demo";

  /** Where most pods go, so that what is seen does not depend on how many GPUs there are. */
  static final int FIRST = 0;

  static final int ANY = -1;

  /** The script that runs this. */
  private static final String DEMO = System.getProperty("tranche.demo", "FOLDER/demo");

  private static final long MIB = 1 << 20;
  private static final int ANSWER_WITHIN_S = 60;

  private static final Map<String, String> BY_MPS =
      Map.of("nvidia.com/device-plugin.config", "mps", "nvidia.com/mps.capable", "true");
  private static final Pattern MULTIPROCESSORS = Pattern.compile("(\\d+) multiprocessors");

  /** Kubernetes has just started, and may be slow to answer. */
  private static final int REQUEST_MS = 60_000;

  private final KubernetesClient client;
  private final List<String> options;

  private @Nullable LocalApi api;

  private GpuNode(KubernetesClient client, List<String> options) {
    this.client = client;
    this.options = options;
  }

  /**
   * @param args the file of the kubeconfig, and options: {@code --simulated} if NVML is, {@code
   *     --limits=required} if the driver limits memory, {@code --mps} to share by MPS, too
   */
  static GpuNode connect(String[] args) {
    var config = Config.fromKubeconfig(new File(args[0]));
    config.setNamespace(NAMESPACE);
    config.setRequestTimeout(REQUEST_MS);
    return new GpuNode(new KubernetesClientBuilder().withConfig(config).build(), List.of(args));
  }

  KubernetesClient client() {
    return client;
  }

  boolean isSimulated() {
    return options.contains("--simulated");
  }

  boolean limitsMemory() {
    return options.contains("--limits=required");
  }

  boolean sharesByMps() {
    return options.contains("--mps");
  }

  /** Returns the time since the command began, which first unpacks where nothing is unpacked. */
  static long secondsSinceStart() {
    return Instant.now().getEpochSecond() - Long.getLong("tranche.started");
  }

  /** Returns how long use is measured: simulated use does not change. */
  Duration measured() {
    return Duration.ofSeconds(isSimulated() ? 10 : 60);
  }

  void awaitReady() {
    awaitParts(3);
    Await.until("shares of GPUs", 60, () -> replicas() > 0);
    Namespaces.create(client, NAMESPACE);
  }

  private void awaitParts(int atLeast) {
    Await.until(
        "pods that are ready",
        180,
        () -> {
          var pods = client.pods().inNamespace(TRANCHE).list().getItems();
          return pods.size() >= atLeast && pods.stream().allMatch(Readiness::isPodReady);
        },
        () -> DEMO + " kubectl -n tranche get pods,events shows why");
  }

  /** Ends the pods, and shares the GPUs by MPS from now on. */
  void shareByMps() {
    client.pods().delete();
    Await.until("the pods to end", 60, () -> client.pods().list().getItems().isEmpty());
    String name = node().getMetadata().getName();
    client.nodes().withName(name).edit(GpuNode::withMpsLabels);
    awaitParts(4);
    Await.until(
        "shares by MPS",
        120,
        () ->
            "mps".equals(node().getMetadata().getLabels().get(Names.LABEL_SHARING_STRATEGY))
                && replicas() > gpus().size());
  }

  private static Node withMpsLabels(Node node) {
    return new NodeBuilder(node).editMetadata().addToLabels(BY_MPS).endMetadata().build();
  }

  Node node() {
    return client.nodes().list().getItems().getFirst();
  }

  /** Returns how many replicas the kubelet offers. */
  int replicas() {
    Quantity offered = node().getStatus().getAllocatable().get(Names.RESOURCE);
    return offered == null ? 0 : offered.getNumericalAmount().intValue();
  }

  /** Creates its pod, which must get this GPU, or {@link #ANY}. */
  void create(GpuLoad load, int gpu) {
    client.resource(load.pod(isSimulated(), gpus().path(gpu).path("uuid").asText())).create();
  }

  Pod pod(String name) {
    return client.pods().withName(name).require();
  }

  void awaitPod(String name, Predicate<Pod> condition) {
    Await.until(
        name,
        120,
        () -> condition.test(pod(name)),
        () -> DEMO + " kubectl -n demo describe pod " + name + " shows why");
  }

  static boolean isRunning(Pod pod) {
    return Objects.equals(pod.getStatus().getPhase(), "Running")
        && pod.getStatus().getContainerStatuses().stream().allMatch(ContainerStatus::getReady);
  }

  /** Returns why a pod is not placed, or an empty string. */
  String reason(String name) {
    return row(name).at("/waiting/message").asText();
  }

  /** Returns the memory that NVML reports of a pod's processes. */
  long usedMib(String name) {
    return mib(row(name).at("/used/memory"));
  }

  /** Returns whether the driver limits a pod's memory; empty while that was not read back. */
  String limited(String name) {
    return row(name).at("/gpus/0/limited").asText();
  }

  JsonNode row(String name) {
    return query("/api/v1/pods/%s/%s".formatted(NAMESPACE, name));
  }

  JsonNode rows() {
    return query("/api/v1/pods?namespace=" + NAMESPACE).path("items");
  }

  JsonNode gpus() {
    return query("/api/v1/gpus").path("items");
  }

  /** Returns the pods of a part of Tranche. */
  List<Pod> parts(String name) {
    return client
        .pods()
        .inNamespace(TRANCHE)
        .withLabel("app.kubernetes.io/component", name)
        .list()
        .getItems();
  }

  private JsonNode query(String path) {
    var answers = new ArrayList<LocalApi.Answer>();
    Await.until(path, ANSWER_WITHIN_S, () -> ask(path).filter(answers::add).isPresent());
    return answers.getFirst().json();
  }

  /** By one connection, since it is asked often. */
  private Optional<LocalApi.Answer> ask(String path) {
    try {
      if (api == null) {
        api = new LocalApi(client, parts("extender").getFirst());
      }
      return Optional.of(api.get(path)).filter(answer -> answer.status() == 200);
    } catch (IOException e) {
      closeApi();
      return Optional.empty();
    }
  }

  private void closeApi() {
    try (var _ = api) {
      api = null;
    } catch (IOException ended) {
      // The pod that it led to may be gone.
    }
  }

  /** Lets the program of a pod free all but a little of its memory. */
  void release(String name) {
    var errors = new ByteArrayOutputStream();
    try (var exec =
        client.pods().withName(name).writingError(errors).exec(GpuLoad.PROGRAM, "--release")) {
      if (exec.exitCode().join() != 0) {
        throw new IllegalStateException(name + ": " + errors.toString(UTF_8));
      }
    }
  }

  /** Returns the error that ends a pod's program. */
  String error(String name) {
    return awaitLine(name, "error: ");
  }

  /** Returns the GPU that a pod's program sees, by its own question to the driver. */
  String visible(String name) {
    return awaitLine(name, "visible ").split("[ ,]")[0];
  }

  /** Returns the limits by which a framework in the pod would size itself. */
  String limitsRead(String name) {
    return awaitLine(name, "visible ").split(", reads ", 2)[1];
  }

  /** Returns how many multiprocessors of the GPU a pod's program may use, as it sees them. */
  int multiprocessors(String name) {
    var number = MULTIPROCESSORS.matcher(awaitLine(name, "visible "));
    return number.find() ? Integer.parseInt(number.group(1)) : 0;
  }

  private String awaitLine(String name, String start) {
    awaitPod(name, _ -> !line(name, start).isEmpty());
    return line(name, start);
  }

  /** Returns the rest of the first such line of a pod's log. */
  private String line(String name, String start) {
    try {
      return client
          .pods()
          .withName(name)
          .getLog()
          .lines()
          .filter(line -> line.startsWith(start))
          .findFirst()
          .map(line -> line.substring(start.length()))
          .orElse("");
    } catch (KubernetesClientException notStarted) {
      return "";
    }
  }

  static long mib(JsonNode quantity) {
    return Quantity.getAmountInBytes(new Quantity(quantity.asText("0"))).longValue() / MIB;
  }

  @Override
  public void close() {
    closeApi();
    client.close();
  }
}
