package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.Map;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** One pod's way through all parts. */
@Order(20)
class FractionE2E extends Scenario {
  @Test
  void fraction_becomesReplicasOfOneGpu_whichTheContainerAloneSees() {
    create(PodSpecs.fraction("third", "0.3"));
    Pod pod = running("third");

    var resources = pod.getSpec().getContainers().getFirst().getResources();
    assertThat(resources.getLimits().get(Names.RESOURCE).getAmount()).isEqualTo("3");
    assertThat(resources.getRequests().get(Names.RESOURCE).getAmount()).isEqualTo("3");
    assertThat(pod.getSpec().getSchedulerName()).isEqualTo(scheduler());
    assertThat(pod.getSpec().getRuntimeClassName()).isEqualTo(Names.RUNTIME_CLASS);
    assertThat(pod.getMetadata().getAnnotations()).containsEntry(Names.REPLICAS_PER_GPU, "10");

    assertThat(held(pod)).containsOnlyKeys("main");
    assertThat(held(pod).get("main")).hasSize(3);
    assertThat(assigned(pod)).hasSize(1).isEqualTo(heldGpus(pod));
    assertThat(visibleDevices(pod, "main")).isEqualTo(assigned(pod).iterator().next());
  }

  /** Another variable is put together before the kubelet adds those of the device plugin. */
  @Test
  void share_isReplacedInArgs_butNotInOtherVariables() {
    create(
        PodSpecs.fraction("sized", "0.3")
            .editSpec()
            .editFirstContainer()
            .withCommand("sh", "-c", "echo \"$0 $1 $OTHER\"; exec sleep 86400")
            .withArgs("$(TRANCHE_GPU_FRACTION)", "$(TRANCHE_GPU_MEMORY_MIB)")
            .addNewEnv()
            .withName("OTHER")
            .withValue("$(TRANCHE_GPU_FRACTION)")
            .endEnv()
            .endContainer()
            .endSpec());
    running("sized");
    Await.until("the container to print its share", 60, () -> !printed("sized").isEmpty());
    assertThat(printed("sized")).matches("0\\.3 [1-9][0-9]+ \\$\\(TRANCHE_GPU_FRACTION\\)");
  }

  private String printed(String pod) {
    return kubectl("-n", namespace, "logs", pod).strip();
  }

  @Test
  void count_isThatShareOnDifferentGpus() {
    create(PodSpecs.annotated("wide", Map.of(Names.GPU_FRACTION, "0.5", Names.GPU_COUNT, "2")));
    Pod pod = running("wide");
    assertThat(held(pod).get("main")).hasSize(10);
    assertThat(heldGpus(pod)).hasSize(2).isEqualTo(assigned(pod));
    assertThat(visibleDevices(pod, "main").split(","))
        .containsExactlyInAnyOrderElementsOf(assigned(pod));
  }

  /** The kubelet gives a container what the init container before it had, and asks nobody. */
  @Test
  void initContainerOnTwoWholeGpus_passesThemOn() {
    create(
        PodSpecs.plain("checked", 20)
            .editSpec()
            .addToInitContainers(
                new ContainerBuilder(PodSpecs.container("check", 20)).withCommand("true").build())
            .endSpec());
    Pod pod = running("checked");
    assertThat(held(pod).get("main")).hasSize(20);
    assertThat(heldGpus(pod)).hasSize(2).isEqualTo(assigned(pod));
    assertThat(visibleDevices(pod, "main").split(","))
        .containsExactlyInAnyOrderElementsOf(assigned(pod));
    create(PodSpecs.fraction("beside", "0.1"));
    assertThat(assigned(running("beside"))).doesNotContainAnyElementsOf(assigned(pod));
  }

  @Test
  void plainPod_runsUnchanged() {
    create(PodSpecs.plain("plain", 1));
    Pod pod = running("plain");
    assertThat(pod.getSpec().getContainers().getFirst().getResources().getLimits())
        .hasEntrySatisfying(
            Names.RESOURCE, quantity -> assertThat(quantity.getAmount()).isEqualTo("1"));
    assertThat(held(pod).get("main")).hasSize(1);
    assertThat(visibleDevices(pod, "main")).isEqualTo(heldGpus(pod).iterator().next());
  }

  @Test
  void deletedPod_freesItsGpuAtOnce() {
    var all = tranche().nodes().size() * 2;
    for (int i = 0; i < all; i++) {
      create(PodSpecs.fraction("whole-" + i, "1"));
    }
    allRunning(all);
    create(PodSpecs.fraction("next", "1"));
    assertThat(pendingMessage("next")).contains("Insufficient nvidia.com/gpu");
    delete("whole-0");
    Await.until("the freed GPU to be taken", 10, () -> get("next").getSpec().getNodeName() != null);
    running("next");
  }
}
