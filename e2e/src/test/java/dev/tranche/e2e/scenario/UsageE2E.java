package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** Whose process uses how much of a GPU, and who is told when it is more than granted. */
@Order(40)
class UsageE2E extends Scenario {
  private static final int USED_MIB = 8000;

  @Test
  void memoryBeyondTheGrant_isMeasuredPerContainer_andToldToBothPodsOfTheGpu() {
    NodeGpus gpus = tranche().gpus(BETA);
    create(onFirstGpu("greedy"));
    create(onFirstGpu("neighbour"));
    Pod greedy = running("greedy");
    running("neighbour");

    gpus.load(0, 10, 1000);
    gpus.process(0, pid(greedy), USED_MIB, 40);
    Await.until(
        "the container's use",
        90,
        () -> used("greedy").isPresent(),
        () -> String.join("\n", pluginMetrics(BETA).toList()));
    assertThat(used("greedy").orElseThrow())
        .contains("container=\"main\"")
        .contains("UUID=\"" + gpus.uuid(0) + "\"")
        .endsWith(" " + (double) (USED_MIB * (1L << 20)));
    assertThat(used("neighbour")).isEmpty();
    awaitEvent("greedy", "GpuOveruse", "uses 7.8 GiB");
    awaitEvent("neighbour", "GpuNeighbourOveruse", namespace + "/greedy");

    gpus.clearProcesses();
    awaitEvent("greedy", "GpuOveruseEnded", "is within its share");
  }

  private static Pod onFirstGpu(String name) {
    var annotations =
        Map.of(Names.GPU_FRACTION, "0.3", Names.GPU_UUID, tranche().gpus(BETA).uuid(0));
    return PodSpecs.on(BETA, PodSpecs.annotated(name, annotations));
  }

  private Optional<String> used(String pod) {
    return usedMemory(BETA, pod);
  }

  private void awaitEvent(String pod, String reason, String text) {
    Await.until(
        "event %s of %s".formatted(reason, pod),
        120,
        () ->
            events(pod).stream()
                .anyMatch(e -> e.getReason().equals(reason) && e.getMessage().contains(text)),
        () -> tranche().cluster().kubectl("-n", namespace, "get", "events").out());
  }
}
