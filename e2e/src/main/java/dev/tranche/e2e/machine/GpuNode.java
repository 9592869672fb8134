package dev.tranche.e2e.machine;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Names;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.LocalApi;
import dev.tranche.e2e.install.Namespaces;
import io.fabric8.kubernetes.api.model.ContainerStatus;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.readiness.Readiness;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;

/** The cluster of one node that {@code ./demo --gpu} starts, and pods in its namespace. */
final class GpuNode implements AutoCloseable {
  static final String TRANCHE = "tranche";
  private static final String NAMESPACE = "demo";
  private static final long MIB = 1 << 20;

  private final KubernetesClient client;
  private final boolean simulated;

  private GpuNode(KubernetesClient client, boolean simulated) {
    this.client = client;
    this.simulated = simulated;
  }

  /**
   * @param args the file of the kubeconfig, and {@code --simulated} if NVML is
   */
  static GpuNode connect(String[] args) {
    var config = Config.fromKubeconfig(new File(args[0]));
    config.setNamespace(NAMESPACE);
    return new GpuNode(
        new KubernetesClientBuilder().withConfig(config).build(),
        List.of(args).contains("--simulated"));
  }

  KubernetesClient client() {
    return client;
  }

  boolean isSimulated() {
    return simulated;
  }

  /** Returns how long use is measured: simulated use does not change. */
  Duration measured() {
    return Duration.ofSeconds(simulated ? 10 : 60);
  }

  void awaitReady() {
    Await.until(
        "pods that are ready",
        180,
        () -> {
          var pods = client.pods().inNamespace(TRANCHE).list().getItems();
          return pods.size() >= 3 && pods.stream().allMatch(Readiness::isPodReady);
        },
        () -> "kubectl -n tranche get pods,events shows why");
    Await.until("shares of GPUs", 60, () -> replicas() > 0);
    Namespaces.create(client, NAMESPACE);
  }

  /** Returns how many replicas the kubelet offers. */
  int replicas() {
    Quantity offered =
        client
            .nodes()
            .list()
            .getItems()
            .getFirst()
            .getStatus()
            .getAllocatable()
            .get(Names.RESOURCE);
    return offered == null ? 0 : offered.getNumericalAmount().intValue();
  }

  void create(GpuLoad load) {
    client.resource(load.pod(simulated)).create();
  }

  Pod pod(String name) {
    return client.pods().withName(name).require();
  }

  void awaitPod(String name, Predicate<Pod> condition) {
    Await.until(
        name,
        120,
        () -> condition.test(pod(name)),
        () -> "kubectl -n demo describe pod " + name + " shows why");
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

  JsonNode row(String name) {
    return query("/api/v1/pods/%s/%s".formatted(NAMESPACE, name));
  }

  JsonNode rows() {
    return query("/api/v1/pods?namespace=" + NAMESPACE).path("items");
  }

  JsonNode gpus() {
    return query("/api/v1/gpus").path("items");
  }

  private JsonNode query(String path) {
    var extenders =
        client
            .pods()
            .inNamespace(TRANCHE)
            .withLabel("app.kubernetes.io/component", "extender")
            .list()
            .getItems();
    return LocalApi.all(client, extenders, path).getFirst().json();
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

  /** Returns the GPU that a pod's program sees, by its own question to the driver. */
  String visible(String name) {
    return client
        .pods()
        .withName(name)
        .getLog()
        .lines()
        .filter(line -> line.startsWith("visible "))
        .findFirst()
        .map(line -> line.substring("visible ".length()).split("[ ,]")[0])
        .orElse("none");
  }

  static long mib(JsonNode quantity) {
    return Quantity.getAmountInBytes(new Quantity(quantity.asText("0"))).longValue() / MIB;
  }

  @Override
  public void close() {
    client.close();
  }
}
