package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** Nodes that are equal in allocations and unequal in what NVML reports. */
@Tag("slice1")
@Order(80)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class LoadE2E extends Scenario {
  /** A mean falls slowly; what is left of it must not outweigh what a test is about. */
  private static final int REST_PERCENT = 5;

  /** Last, since the mean that it leaves behind would keep the others waiting. */
  @Test
  @Order(Integer.MAX_VALUE)
  void smLoad_sendsThePodToTheIdleNode_andBackWhenTheLoadsSwap() {
    idle(GAMMA);
    busy(BETA, 90, 0);
    assertThat(placed("first")).isEqualTo(GAMMA);
    delete("first");
    tranche().gpus(BETA).idle();
    busy(GAMMA, 90, 0);
    assertThat(placed("second")).isEqualTo(BETA);
  }

  @Test
  void memory_sendsThePodToTheNodeWithMoreFree_andBackWhenItSwaps() {
    int half = Model.T4.usableMib() / 2;
    idle(GAMMA);
    busy(BETA, 0, half);
    assertThat(placed("first")).isEqualTo(GAMMA);
    delete("first");
    idle(BETA);
    busy(GAMMA, 0, half);
    assertThat(placed("second")).isEqualTo(BETA);
  }

  @Test
  void fullMemory_isNoRoom_whateverTheAllocations() {
    busy(BETA, 0, Model.T4.usableMib());
    busy(GAMMA, 0, Model.T4.usableMib());
    create(onBetaOrGamma("waits"));
    assertThat(pendingMessage("waits")).contains("memory");
    tranche().gpus(GAMMA).idle();
    Await.until(
        "the pod to be woken though nothing changed in the API",
        3,
        () -> GAMMA.equals(nodeOf(get("waits"))));
    running("waits");
  }

  /** Both GPUs of a node, and waits until the extenders know it. */
  private static void busy(String node, int smPercent, int usedMib) {
    for (int i = 0; i < tranche().gpus(node).count(); i++) {
      tranche().gpus(node).load(i, smPercent, usedMib);
    }
    awaitLoad(node, smPercent, usedMib, smPercent == 0 ? REST_PERCENT : 30);
  }

  private static void idle(String node) {
    tranche().gpus(node).idle();
    awaitLoad(node, 0, 0, REST_PERCENT);
  }

  private static void awaitLoad(String node, int smPercent, int usedMib, int tolerancePercent) {
    Await.until(
        "the load of " + node + " to be known",
        90,
        () -> Inspection.of(tranche()).allMatch(node, smPercent, usedMib, tolerancePercent),
        () -> tranche().gpuTables());
  }

  private String placed(String name) {
    create(onBetaOrGamma(name));
    return nodeOf(running(name));
  }

  private static Pod onBetaOrGamma(String name) {
    PodBuilder pod = PodSpecs.fraction(name, "0.2");
    return pod.editSpec()
        .withNewAffinity()
        .withNewNodeAffinity()
        .withNewRequiredDuringSchedulingIgnoredDuringExecution()
        .addNewNodeSelectorTerm()
        .addNewMatchExpression()
        .withKey("kubernetes.io/hostname")
        .withOperator("In")
        .withValues(BETA, GAMMA)
        .endMatchExpression()
        .endNodeSelectorTerm()
        .endRequiredDuringSchedulingIgnoredDuringExecution()
        .endNodeAffinity()
        .endAffinity()
        .endSpec()
        .build();
  }
}
