package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.ContainerPortBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.scheduling.v1.PriorityClassBuilder;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/**
 * An important pod lacks a GPU and something else, which only one of the two evictable pods has.
 * The other one is less important and holds as much of the same GPU.
 */
@Order(30)
class ConstrainedPreemptionE2E extends Scenario {
  private static final int EVICTION_SECONDS = 120;
  private static final int HOST_PORT = 19_000;
  private static final String URGENT = "urgent";
  private static final Map<String, Integer> PRIORITIES =
      Map.of("lowest", 10, "low", 20, URGENT, 1000);

  @BeforeEach
  void createPriorities() {
    PRIORITIES.forEach(
        (name, value) ->
            client()
                .resource(
                    new PriorityClassBuilder()
                        .withNewMetadata()
                        .withName(className(name))
                        .endMetadata()
                        .withValue(value)
                        .withGlobalDefault(false)
                        .build())
                .create());
  }

  @AfterEach
  void removePriorities() {
    PRIORITIES
        .keySet()
        .forEach(
            name ->
                client().scheduling().v1().priorityClasses().withName(className(name)).delete());
  }

  private String className(String priority) {
    return namespace + "-" + priority;
  }

  @Test
  void podWithTheHostPort_goes_andTheBystanderStays() {
    whoHasItGoes(
        pod ->
            pod.editSpec()
                .editFirstContainer()
                .withPorts(
                    new ContainerPortBuilder()
                        .withContainerPort(9000)
                        .withHostPort(HOST_PORT)
                        .build())
                .endContainer()
                .endSpec());
  }

  @Test
  void podWithTheCpu_goes_andTheBystanderStays() {
    Quantity allocatable =
        client().nodes().withName(BETA).get().getStatus().getAllocatable().get("cpu");
    // Two such pods do not fit the node.
    BigDecimal cpu =
        allocatable
            .getNumericalAmount()
            .multiply(new BigDecimal("0.55"))
            .setScale(2, RoundingMode.DOWN);
    whoHasItGoes(
        pod ->
            pod.editSpec()
                .editFirstContainer()
                .editOrNewResources()
                .addToRequests("cpu", new Quantity(cpu.toPlainString()))
                .endResources()
                .endContainer()
                .endSpec());
  }

  private void whoHasItGoes(UnaryOperator<PodBuilder> needs) {
    create(half("bystander", "lowest", 0, pod -> pod));
    create(half("holder", "low", 0, needs));
    // The other GPU belongs to pods as important.
    create(half("equal-a", URGENT, 1, pod -> pod));
    create(half("equal-b", URGENT, 1, pod -> pod));
    allRunning(4);
    create(half(URGENT, URGENT, 0, needs));
    Await.until(
        "the important pod to run",
        EVICTION_SECONDS,
        () -> "Running".equals(get(URGENT).getStatus().getPhase()),
        () ->
            tranche().cluster().kubectl("-n", namespace, "get", "pods", "-o", "wide").out()
                + tranche().cluster().kubectl("-n", namespace, "get", "events").out());
    assertThat(pods())
        .filteredOn(pod -> pod.getMetadata().getDeletionTimestamp() == null)
        .extracting(pod -> pod.getMetadata().getName())
        .containsExactlyInAnyOrder("bystander", "equal-a", "equal-b", URGENT);
    assertThat(heldGpus(get(URGENT)))
        .isEqualTo(assigned(get(URGENT)))
        .containsExactly(tranche().gpus(BETA).uuid(0));
  }

  private Pod half(String name, String priority, int gpu, UnaryOperator<PodBuilder> more) {
    var annotations =
        Map.of(Names.GPU_FRACTION, "0.5", Names.GPU_UUID, tranche().gpus(BETA).uuid(gpu));
    return PodSpecs.on(
        BETA,
        more.apply(PodSpecs.annotated(name, annotations))
            .editSpec()
            .withPriorityClassName(className(priority))
            .endSpec());
  }
}
