package dev.tranche.e2e.scenario;

import static java.util.stream.Collectors.toMap;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodProcesses;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whoever can start a pod floods the ports of webhook and extender. */
@Tag("slice1")
@Order(1_170)
class FloodE2E extends Scenario {
  private static final List<String> PARTS = List.of("webhook", "extender", "node-plugin");
  private static final int CONNECTIONS = 500;
  private static final int FLOOD_S = 60;
  private static final int PODS = 100;
  private static final Duration CREATED_WITHIN = Duration.ofSeconds(10);
  private static final int READY_WITHIN_S = 10;

  /**
   * @param nodeAddress whether the flood comes from the node's own address. The API server and that
   *     node's kubelet have the same
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void flood_endsNoProcess_andPodsAreCreated(boolean nodeAddress) throws Exception {
    create(
        PodSpecs.on(
            ALPHA, PodSpecs.pod("attacker").editSpec().withHostNetwork(nodeAddress).endSpec()));
    String attacker = PodProcesses.onHost(running("attacker"), "sleep").getFirst();
    Map<String, Integer> before = restarts();
    List<Process> floods = new ArrayList<>();
    try {
      for (Pod pod : tranche().parts("webhook")) {
        floods.add(flood(attacker, pod, "tls", 8443));
        floods.add(flood(attacker, pod, "plain", 9090));
      }
      Pod extender = tranche().parts("extender").getFirst();
      floods.add(flood(attacker, extender, "tls", 9443));
      floods.add(flood(attacker, extender, "plain", 9090));
      assertThat(podsCreatedInTime()).isGreaterThanOrEqualTo(95);
      for (Process flood : floods) {
        flood.waitFor();
        assertThat(Integer.parseInt(flood.inputReader().readLine())).isGreaterThan(CONNECTIONS / 6);
      }
    } finally {
      floods.forEach(Process::destroyForcibly);
    }
    Await.until("all parts to be ready", READY_WITHIN_S, FloodE2E::allReady);
    assertThat(restarts()).isEqualTo(before);
  }

  private static Process flood(String attacker, Pod target, String transport, int port)
      throws IOException {
    return new ProcessBuilder(
            "nsenter",
            "--target=" + attacker,
            "--net",
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            System.getProperty("java.class.path"),
            Flood.class.getName(),
            transport,
            target.getStatus().getPodIP(),
            Integer.toString(port),
            Integer.toString(CONNECTIONS / 6),
            Integer.toString(FLOOD_S))
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  /** Asks for {@link #PODS} pods during the flood, and counts those that get a share in time. */
  private long podsCreatedInTime() throws InterruptedException {
    long inTime = 0;
    for (int i = 0; i < PODS; i++) {
      long startNanos = System.nanoTime();
      boolean created = createdWithShare("p" + i);
      long nanos = System.nanoTime() - startNanos;
      inTime += created && nanos < CREATED_WITHIN.toNanos() ? 1 : 0;
      long restNanos = Duration.ofSeconds(FLOOD_S).toNanos() / PODS - nanos;
      Thread.sleep(Duration.ofNanos(Math.max(0, restNanos)));
    }
    return inTime;
  }

  private boolean createdWithShare(String name) {
    try {
      Pod created =
          client()
              .pods()
              .inNamespace(namespace)
              .resource(PodSpecs.fraction(name, "0.1").build())
              .dryRun(true)
              .create();
      return created
          .getSpec()
          .getContainers()
          .getFirst()
          .getResources()
          .getLimits()
          .containsKey(Names.RESOURCE);
    } catch (KubernetesClientException refused) {
      return false;
    }
  }

  private static Stream<Pod> parts() {
    return PARTS.stream().flatMap(part -> tranche().parts(part).stream());
  }

  private static Map<String, Integer> restarts() {
    return parts()
        .flatMap(
            pod ->
                pod.getStatus().getContainerStatuses().stream()
                    .map(
                        status ->
                            Map.entry(
                                pod.getMetadata().getName() + "/" + status.getName(),
                                status.getRestartCount())))
        .collect(toMap(Map.Entry::getKey, Map.Entry::getValue));
  }

  private static boolean allReady() {
    return parts()
        .flatMap(pod -> pod.getStatus().getConditions().stream())
        .filter(condition -> condition.getType().equals("Ready"))
        .allMatch(condition -> condition.getStatus().equals("True"));
  }
}
