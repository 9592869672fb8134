package dev.tranche.e2e.machine;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Names;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.LocalApi;
import io.fabric8.kubernetes.api.model.ContainerStatus;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
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

/**
 * Three pods share the GPU of this machine, a fourth waits for memory that is used beyond a grant,
 * and starts when that memory is free.
 */
public final class GpuDemo implements AutoCloseable {
  private static final String NAMESPACE = "demo";
  private static final long MIB = 1 << 20;

  /** For use that the shown means settle at, and for simulated use, which does not change. */
  private static final Duration MEASURED = Duration.ofSeconds(60);

  private static final Duration SIMULATED = Duration.ofSeconds(10);

  private final KubernetesClient client;
  private final boolean simulated;
  private final Duration measured;

  private GpuDemo(KubernetesClient client, boolean simulated) {
    this.client = client;
    this.simulated = simulated;
    this.measured = simulated ? SIMULATED : MEASURED;
  }

  /** {@code GpuDemo KUBECONFIG [--simulated]}. */
  public static void main(String[] args) throws Exception {
    var config = Config.fromKubeconfig(new File(args[0]));
    config.setNamespace(NAMESPACE);
    boolean simulated = List.of(args).contains("--simulated");
    try (var demo =
        new GpuDemo(new KubernetesClientBuilder().withConfig(config).build(), simulated)) {
      demo.run();
    }
    System.exit(0);
  }

  private void run() throws InterruptedException {
    awaitReady();
    JsonNode gpu = query("/api/v1/gpus").path("items").path(0);
    long totalMib = mib(gpu.path("memory"));
    print(
        "%s with %d MiB, %s shares"
            .formatted(gpu.path("model").asText(), totalMib, gpu.path("replicas")));
    client
        .resource(
            new NamespaceBuilder().withNewMetadata().withName(NAMESPACE).endMetadata().build())
        .serverSideApply();
    Await.until(
        "a default service account",
        30,
        () -> client.serviceAccounts().withName("default").get() != null);

    print("three pods, 0.3, 0.3 and 0.2 of the GPU; \"greedy\" takes more memory than its share");
    var loads =
        List.of(
            new GpuLoad("steady", "0.3", 30, totalMib / 5),
            new GpuLoad("greedy", "0.3", 20, totalMib / 2),
            new GpuLoad("small", "0.2", 10, totalMib / 10));
    loads.forEach(this::create);
    loads.forEach(load -> awaitPod(load.name(), GpuDemo::isRunning));
    print("measuring for %d s".formatted(measured.toSeconds()));
    Thread.sleep(measured);
    System.out.print(table());

    print("a fourth pod, 0.2 of the GPU: two shares are free, the memory for them is not");
    create(new GpuLoad("late", "0.2", 10, totalMib / 20));
    awaitPod("late", pod -> !reason(pod).isEmpty());
    System.out.println("  " + reason(pod("late")));
    print("\"greedy\" frees its memory");
    release("greedy");
    awaitPod("late", GpuDemo::isRunning);
    awaitPod("late", pod -> mib(query(path(pod)).at("/used/memory")) > 0);
    Thread.sleep(measured);
    System.out.print(table());
  }

  private void awaitReady() {
    print("waiting for the parts of Tranche to be ready");
    Await.until(
        "pods that are ready",
        180,
        () -> {
          var pods = client.pods().inNamespace("tranche").list().getItems();
          return pods.size() >= 3 && pods.stream().allMatch(Readiness::isPodReady);
        },
        () -> "kubectl -n tranche get pods,events shows why");
    Await.until(
        "shares of GPUs",
        60,
        () ->
            client.nodes().list().getItems().stream()
                .anyMatch(node -> node.getStatus().getAllocatable().containsKey(Names.RESOURCE)));
  }

  private void create(GpuLoad load) {
    client.resource(load.pod(simulated)).create();
  }

  private Pod pod(String name) {
    return client.pods().withName(name).require();
  }

  private void awaitPod(String name, Predicate<Pod> condition) {
    Await.until(
        name,
        120,
        () -> condition.test(pod(name)),
        () -> "kubectl -n demo describe pod " + name + " shows why");
  }

  private static boolean isRunning(Pod pod) {
    return Objects.equals(pod.getStatus().getPhase(), "Running")
        && pod.getStatus().getContainerStatuses().stream().allMatch(ContainerStatus::getReady);
  }

  /** Why a pod is not placed, or an empty string. */
  private String reason(Pod pod) {
    return query(path(pod)).at("/waiting/message").asText();
  }

  private static String path(Pod pod) {
    return "/api/v1/pods/%s/%s".formatted(NAMESPACE, pod.getMetadata().getName());
  }

  private void release(String name) {
    var errors = new ByteArrayOutputStream();
    try (var exec =
        client.pods().withName(name).writingError(errors).exec(GpuLoad.PROGRAM, "--release")) {
      if (exec.exitCode().join() != 0) {
        throw new IllegalStateException(name + ": " + errors.toString(UTF_8));
      }
    }
  }

  private String table() {
    var table = new StringBuilder();
    table.append(
        "  POD       SHARE  GPU THAT THE PROGRAM SEES                      MEMORY USED  SM\n");
    for (JsonNode pod : query("/api/v1/pods?namespace=" + NAMESPACE).path("items")) {
      String name = pod.path("name").asText();
      table.append(
          "  %-9s %-6s %-46s %7d MiB  %s%n"
              .formatted(
                  name,
                  pod.at("/granted/gpus").asText(),
                  visible(name),
                  mib(pod.at("/used/memory")),
                  pod.at("/used/gpus").asText()));
    }
    return table.toString();
  }

  /** By the program's own question to the driver. */
  private String visible(String name) {
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

  private JsonNode query(String path) {
    var extenders =
        client
            .pods()
            .inNamespace("tranche")
            .withLabel("app.kubernetes.io/component", "extender")
            .list()
            .getItems();
    return LocalApi.all(client, extenders, path).getFirst().json();
  }

  private static long mib(JsonNode quantity) {
    return Quantity.getAmountInBytes(new Quantity(quantity.asText("0"))).longValue() / MIB;
  }

  private static void print(String line) {
    System.out.println("\n" + line);
  }

  @Override
  public void close() {
    client.close();
  }
}
