package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.IntOrString;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudgetBuilder;
import io.fabric8.kubernetes.api.model.scheduling.v1.PriorityClassBuilder;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An important pod, and a node whose two GPUs are full of unimportant halves. */
@Order(30)
class PreemptionE2E extends Scenario {
  private static final int EVICTION_SECONDS = 120;

  @BeforeEach
  void fillBeta() {
    client()
        .resource(
            new PriorityClassBuilder()
                .withNewMetadata()
                .withName(namespace)
                .endMetadata()
                .withValue(1000)
                .withGlobalDefault(false)
                .build())
        .create();
    for (int gpu = 0; gpu < 2; gpu++) {
      for (String half : List.of("a", "b")) {
        create(half(gpu, half));
      }
    }
    allRunning(4);
  }

  @AfterEach
  void removePriority() {
    client().scheduling().v1().priorityClasses().withName(namespace).delete();
  }

  /** Whichever GPU it would be otherwise, one of the two cases is the other one. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void disruptionBudget_sendsItToTheOtherGpu(int kept) {
    protect(kept);
    create(important());
    assertThat(assigned(importantRuns())).containsExactly(tranche().gpus(BETA).uuid(1 - kept));
    assertThat(survivors())
        .hasSize(2)
        .allSatisfy(
            pod -> assertThat(assigned(pod)).containsExactly(tranche().gpus(BETA).uuid(kept)));
  }

  private Pod half(int gpu, String name) {
    var annotations =
        Map.of(Names.GPU_FRACTION, "0.5", Names.GPU_UUID, tranche().gpus(BETA).uuid(gpu));
    return PodSpecs.on(
        BETA,
        PodSpecs.annotated("half-" + gpu + name, annotations)
            .editMetadata()
            .addToLabels("gpu", Integer.toString(gpu))
            .endMetadata());
  }

  private Pod important() {
    return PodSpecs.on(
        BETA,
        PodSpecs.fraction("important", "0.9")
            .editSpec()
            .withPriorityClassName(namespace)
            .endSpec());
  }

  private Pod importantRuns() {
    Await.until(
        "the important pod to run",
        EVICTION_SECONDS,
        () -> "Running".equals(get("important").getStatus().getPhase()),
        () ->
            tranche().cluster().kubectl("-n", namespace, "get", "pods", "-o", "wide").out()
                + tranche().cluster().kubectl("-n", namespace, "get", "events").out());
    return get("important");
  }

  private List<Pod> survivors() {
    return pods().stream()
        .filter(pod -> pod.getMetadata().getName().startsWith("half-"))
        .filter(pod -> pod.getMetadata().getDeletionTimestamp() == null)
        .toList();
  }

  private void protect(int gpu) {
    var budget =
        client()
            .resource(
                new PodDisruptionBudgetBuilder()
                    .withNewMetadata()
                    .withName("kept")
                    .withNamespace(namespace)
                    .endMetadata()
                    .withNewSpec()
                    .withMinAvailable(new IntOrString(2))
                    .withNewSelector()
                    .addToMatchLabels("gpu", Integer.toString(gpu))
                    .endSelector()
                    .endSpec()
                    .build());
    budget.create();
    Await.until(
        "the budget to count its pods",
        60,
        () -> budget.get().getStatus() != null && budget.get().getStatus().getCurrentHealthy() == 2,
        () -> String.valueOf(budget.get().getStatus()));
  }
}
