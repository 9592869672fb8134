package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** Parts that go and come back: running pods stay, none fails, the next one is placed rightly. */
@Order(60)
class RestartE2E extends Scenario {
  private static final int BURST = 24;

  @Test
  void kubeletRestart_keepsPodsAndTheirGpus() {
    create(PodSpecs.on(BETA, PodSpecs.fraction("before", "0.3")));
    Pod before = running("before");
    var held = held(before);

    double registeredBefore = registrations(BETA);
    tranche().cluster().restartKubelet(BETA);
    Await.until("the plugin to register again", 60, () -> registrations(BETA) > registeredBefore);
    allocatableReturns();

    Pod after = running("before");
    assertThat(after.getMetadata().getUid()).isEqualTo(before.getMetadata().getUid());
    assertThat(after.getStatus().getContainerStatuses().getFirst().getRestartCount()).isZero();
    Await.until("the kubelet to know its pods again", 30, () -> held(after).equals(held));
    nextPodIsPlacedRightly();
  }

  @Test
  void rolloutRestart_inTheMiddleOfABurst_failsNoPod() {
    for (int i = 0; i < BURST; i++) {
      if (i == BURST / 4) {
        kubectl("-n", Tranche.NAMESPACE, "rollout", "restart", "daemonset/tranche-node-plugin");
      }
      create(PodSpecs.fraction("p" + i, "0.2"));
    }
    allRunning(BURST);
    assertThat(pods()).allSatisfy(pod -> assertThat(heldGpus(pod)).isEqualTo(assigned(pod)));
    kubectl(
        "-n",
        Tranche.NAMESPACE,
        "rollout",
        "status",
        "daemonset/tranche-node-plugin",
        "--timeout=120s");
    allocatableReturns();
  }

  private void nextPodIsPlacedRightly() {
    create(PodSpecs.on(BETA, PodSpecs.fraction("after", "0.3")));
    Pod after = running("after");
    assertThat(heldGpus(after)).hasSize(1).isEqualTo(assigned(after));
  }

  private static void allocatableReturns() {
    int each = 2 * Tranche.REPLICAS_PER_GPU;
    Map<String, Integer> whole =
        tranche().nodes().stream().collect(Collectors.toMap(node -> node, node -> each));
    Await.until(
        "allocatable to return",
        60,
        () -> tranche().allocatable().equals(whole) && pluginsReady(),
        () -> tranche().allocatable().toString());
  }

  private static boolean pluginsReady() {
    return tranche().parts("node-plugin").stream()
        .allMatch(
            pod ->
                pod.getMetadata().getDeletionTimestamp() == null
                    && pod.getStatus().getConditions().stream()
                        .anyMatch(
                            c -> c.getType().equals("Ready") && c.getStatus().equals("True")));
  }

  private static double registrations(String node) {
    return pluginMetrics(node)
        .filter(line -> line.matches("tranche_node_registrations_total.*outcome=\"registered\".*"))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }
}
