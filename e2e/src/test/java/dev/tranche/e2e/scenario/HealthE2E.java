package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.cluster.KubernetesVersion;
import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.ResourceHealth;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** GPUs that break and come back. */
@Tag("slice3")
@Order(60)
class HealthE2E extends Scenario {
  private static final int ONE_GPU = Tranche.REPLICAS_PER_GPU;
  private static final int BOTH = 2 * Tranche.REPLICAS_PER_GPU;

  /** An error that the driver has contained: it needs no reset. */
  private static final int CONTAINED = 94;

  /** The first minor version whose kubelets write the health of devices by default, KEP-4680. */
  private static final int WITH_HEALTH_OF_DEVICES = 36;

  @AfterEach
  void allAreWell() {
    tranche().gpus(BETA).setLost(0, false);
    tranche().gpus(BETA).setLost(1, false);
    awaitBetaAllocatable(BOTH);
  }

  @Test
  void gpuWithAnXid_takesNoPods_untilItWasQuiet() {
    NodeGpus gpus = tranche().gpus(BETA);
    gpus.load(1, 60, 1000);
    gpus.xid(0, CONTAINED);
    awaitBetaAllocatable(ONE_GPU);
    awaitBetaEvent("GpuUnhealthy", gpus.uuid(0));

    gpus.xid(0, CONTAINED);
    create(PodSpecs.on(BETA, PodSpecs.fraction("next", "0.5")));
    assertThat(heldGpus(running("next")))
        .as("the busy GPU, since the idle one is broken")
        .containsExactly(gpus.uuid(1));

    gpus.load(1, 0, 0);
    create(PodSpecs.on(BETA, PodSpecs.fraction("waiting", "0.9")));
    awaitBetaAllocatable(BOTH);
    awaitBetaEvent("GpuHealthy", gpus.uuid(0));
    assertThat(heldGpus(running("waiting"))).containsExactly(gpus.uuid(0));
  }

  @Test
  void lostGpu_isTold_andTakesPodsWhenItIsBack() {
    NodeGpus gpus = tranche().gpus(BETA);
    gpus.setLost(1, true);
    awaitBetaAllocatable(ONE_GPU);
    awaitBetaEvent("GpuLost", gpus.uuid(1));
    create(PodSpecs.on(BETA, PodSpecs.fraction("here", "0.9")));
    assertThat(heldGpus(running("here"))).containsExactly(gpus.uuid(0));

    gpus.setLost(1, false);
    awaitBetaAllocatable(BOTH);
    awaitBetaEvent("GpuReturned", gpus.uuid(1));
    create(PodSpecs.on(BETA, PodSpecs.fraction("there", "0.9")));
    assertThat(heldGpus(running("there"))).containsExactly(gpus.uuid(1));
  }

  @Test
  void lostGpu_isInTheStatusOfItsPodsOnly_sinceKubernetes1_36() {
    NodeGpus gpus = tranche().gpus(BETA);
    create(PodSpecs.on(BETA, PodSpecs.fraction("first", "0.6")));
    Set<String> lost = heldGpus(running("first"));
    create(PodSpecs.on(BETA, PodSpecs.fraction("second", "0.6")));
    Set<String> well = heldGpus(running("second"));
    assertThat(lost).doesNotContainAnyElementsOf(well);
    int index = lost.contains(gpus.uuid(0)) ? 0 : 1;

    gpus.setLost(index, true);
    awaitBetaAllocatable(ONE_GPU);
    if (KubernetesVersion.minorOfClusters() < WITH_HEALTH_OF_DEVICES) {
      assertThat(healthOfDevices("first")).isEmpty();
      return;
    }
    awaitHealthOfDevices("first", "Unhealthy");
    assertThat(healthOfDevices("first").keySet()).isEqualTo(heldReplicas("first"));
    assertThat(healthOfDevices("second").keySet()).isEqualTo(heldReplicas("second"));
    assertThat(healthOfDevices("second").values()).containsOnly("Healthy");

    gpus.setLost(index, false);
    awaitHealthOfDevices("first", "Healthy");
  }

  private Set<String> heldReplicas(String pod) {
    return held(get(pod)).values().stream().flatMap(List::stream).collect(Collectors.toSet());
  }

  private void awaitHealthOfDevices(String pod, String health) {
    Await.until(
        "the status of %s to say %s".formatted(pod, health),
        120,
        () -> Set.of(health).equals(Set.copyOf(healthOfDevices(pod).values())),
        () -> healthOfDevices(pod).toString());
  }

  /** By replica id, as the pod's status says it of the resource. */
  private Map<String, String> healthOfDevices(String pod) {
    return get(pod).getStatus().getContainerStatuses().stream()
        .flatMap(status -> status.getAllocatedResourcesStatus().stream())
        .filter(resource -> resource.getName().equals(Names.RESOURCE))
        .flatMap(resource -> resource.getResources().stream())
        .collect(Collectors.toMap(ResourceHealth::getResourceID, ResourceHealth::getHealth));
  }

  private static void awaitBetaAllocatable(int replicas) {
    Await.until(
        "beta to offer " + replicas,
        180,
        () -> Integer.valueOf(replicas).equals(tranche().allocatable().get(BETA)),
        () -> tranche().allocatable().toString());
  }

  private static void awaitBetaEvent(String reason, String uuid) {
    Await.until(
        "event %s of %s".formatted(reason, uuid),
        60,
        () -> nodeEvents(BETA, reason).anyMatch(e -> e.getMessage().contains(uuid)),
        () -> tranche().cluster().kubectl("get", "events").out());
  }
}
