package dev.tranche.e2e.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.ServiceBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The cluster itself, before anything of ours is on it. */
@OwnCluster
@Order(1_060)
class ClusterE2E {
  private static final String FIRST = "GPU-11111111-1111-1111-1111-111111111111";
  private static final String SECOND = "GPU-22222222-2222-2222-2222-222222222222";
  private static final int NODE_PORT = 30080;

  @TempDir static Path driver;
  private static Cluster cluster;
  private static KubernetesClient client;

  @BeforeAll
  static void start() throws IOException {
    var library = Files.createDirectories(driver.resolve("usr/lib64"));
    Files.writeString(
        library.resolve("gpus.state"),
        """
        gpu index=0 uuid=%s model="Tesla T4" memory_mib=16384
        gpu index=1 model="NVIDIA A100-SXM4-40GB" memory_mib=40960 uuid=%s
        """
            .formatted(FIRST, SECOND));
    cluster =
        Cluster.builder()
            .node(Node.of("server"))
            .node(Node.of("agent-1").label("tranche.test/role", "gpu").driver(driver))
            .node(Node.of("agent-2"))
            .imageTar(TestImages.busybox())
            .nodePort(NODE_PORT)
            .start();
    client = cluster.client();
  }

  @AfterAll
  static void stop() {
    if (cluster != null) {
      cluster.close();
    }
  }

  @Test
  void nodes_areReadyWithTheirLabels() {
    assertThat(cluster.nodeNames()).containsExactly("server", "agent-1", "agent-2");
    assertThat(client.nodes().withName("agent-1").get().getMetadata().getLabels())
        .containsEntry("tranche.test/role", "gpu");
    assertThat(cluster.kubectl("get", "nodes", "-o", "name").orFail("kubectl").lines()).hasSize(3);
  }

  @Test
  void services_areResolvedAndReachedAcrossNodes() throws Exception {
    var web = "mkdir /tmp/web; hostname >/tmp/web/index.html; httpd -f -p 8080 -h /tmp/web";
    run(
        pod("web", "agent-1", "sh", "-c", web)
            .editMetadata()
            .addToLabels("app", "web")
            .endMetadata());
    for (var service : List.of("web", "web-headless")) {
      boolean headless = service.equals("web-headless");
      client
          .resource(
              new ServiceBuilder()
                  .withNewMetadata()
                  .withName(service)
                  .withNamespace("default")
                  .endMetadata()
                  .withNewSpec()
                  .withType(headless ? "ClusterIP" : "NodePort")
                  .withClusterIP(headless ? "None" : null)
                  .withSelector(Map.of("app", "web"))
                  .addNewPort()
                  .withPort(8080)
                  .withNodePort(headless ? null : NODE_PORT)
                  .endPort()
                  .endSpec()
                  .build())
          .create();
    }
    run(pod("asker", "agent-2", "sleep", "3600"));

    var address = client.pods().withName("web").get().getStatus().getPodIP();
    var lookup = "until nslookup web-headless.default.svc.cluster.local; do sleep 0.2; done";
    assertThat(inPod("asker", "timeout", "20", "sh", "-c", lookup)).contains(address);
    // The pod runs before its shell has written the file.
    var fetch = "until wget -qO- http://web:8080; do sleep 0.2; done";
    assertThat(inPod("asker", "timeout", "20", "sh", "-c", fetch)).isEqualTo("web\n");
    assertThat(inPod("asker", "timeout", "5", "wget", "-qO-", "http://web-headless:8080"))
        .isEqualTo("web\n");
    assertThat(get(cluster.nodePortUrl(NODE_PORT))).isEqualTo("web\n");
  }

  @ParameterizedTest
  @CsvSource({
    "all,all,true," + FIRST + ' ' + SECOND,
    "uuid," + SECOND + ",true," + SECOND,
    "index,0,true," + FIRST,
    "none,none,true,",
    "void,void,false,",
    "unset,,false,"
  })
  void nvidiaRuntime_recordsWhatItWouldInject(
      String name, String requested, boolean driverInjected, String uuids) throws Exception {
    run(gpuPod("gpu-" + name, requested));

    var record =
        cluster.injections("agent-1").stream()
            .filter(injection -> injection.podName().equals("gpu-" + name))
            .findFirst()
            .orElseThrow();
    assertThat(record.requested()).isEqualTo(requested);
    assertThat(record.driver()).isEqualTo(driverInjected);
    assertThat(String.join(" ", record.uuids())).isEqualTo(uuids == null ? "" : uuids);
    assertThat(record.containerName()).isEqualTo("main");
    assertThat(record.podUid())
        .isEqualTo(client.pods().withName("gpu-" + name).get().getMetadata().getUid());
  }

  @Test
  void nvidiaRuntime_unknownDevice_failsTheContainer() {
    client.resource(gpuPod("gpu-unknown", "GPU-0").build()).create();

    var pod =
        client
            .pods()
            .withName("gpu-unknown")
            .waitUntilCondition(ClusterE2E::hasFailedToStart, 30, TimeUnit.SECONDS);
    var state = pod.getStatus().getContainerStatuses().getFirst();
    var reason =
        state.getState().getTerminated() == null
            ? state.getLastState().getTerminated()
            : state.getState().getTerminated();
    assertThat(reason.getMessage()).contains("device error: GPU-0: unknown device");
  }

  private static boolean hasFailedToStart(Pod pod) {
    return pod != null
        && pod.getStatus().getContainerStatuses().stream()
            .anyMatch(
                status ->
                    status.getState().getTerminated() != null
                        || status.getLastState().getTerminated() != null);
  }

  private static PodBuilder gpuPod(String name, String visibleDevices) {
    var pod =
        pod(name, "agent-1", "sleep", "3600").editSpec().withRuntimeClassName("nvidia").endSpec();
    if (visibleDevices == null) {
      return pod;
    }
    return pod.editSpec()
        .editFirstContainer()
        .addNewEnv()
        .withName("NVIDIA_VISIBLE_DEVICES")
        .withValue(visibleDevices)
        .endEnv()
        .endContainer()
        .endSpec();
  }

  private static PodBuilder pod(String name, String node, String... command) {
    return new PodBuilder()
        .withNewMetadata()
        .withName(name)
        .withNamespace("default")
        .endMetadata()
        .withNewSpec()
        .withNodeName(node)
        .withTerminationGracePeriodSeconds(0L)
        .addNewContainer()
        .withName("main")
        .withImage("tranche-e2e/busybox:1")
        .withCommand(command)
        .endContainer()
        .endSpec();
  }

  private static void run(PodBuilder pod) {
    client.resource(pod.build()).create();
    client.pods().withName(pod.buildMetadata().getName()).waitUntilReady(60, TimeUnit.SECONDS);
  }

  private static String inPod(String pod, String... command) {
    var arguments = new java.util.ArrayList<>(List.of("exec", pod, "--"));
    arguments.addAll(List.of(command));
    return cluster.kubectl(arguments.toArray(String[]::new)).orFail("kubectl exec in " + pod);
  }

  private static String get(String url) throws IOException, InterruptedException {
    try (var http = HttpClient.newHttpClient()) {
      return http.send(
              HttpRequest.newBuilder(URI.create(url)).build(), HttpResponse.BodyHandlers.ofString())
          .body();
    }
  }
}
