package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.PodBuilder;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What explain says of a pod that Tranche does not know. */
class LeftAloneTest {
  @ParameterizedTest
  @CsvSource({
    "tranche.dev/gpu-fraction,   default-scheduler, did not pass Tranche's webhook",
    "tranche.dev/gpu-fraction.a, volcano,           its schedulerName is volcano",
    "tranche.dev/gpu-memory,     volcano,           its schedulerName is volcano",
    "tranche.dev/gpu-fracton,    default-scheduler, tranche.dev/gpu-fracton requests no GPU; a"
        + " share is tranche.dev/gpu-fraction",
    "tranche.dev/fraction,       default-scheduler, tranche.dev/fraction requests no GPU",
    "gpu-fraction,               default-scheduler, its annotation gpu-fraction requests no GPU",
    "tranch.dev/gpu-fraction,    default-scheduler, tranch.dev/gpu-fraction requests no GPU; a"
        + " share is tranche.dev/gpu-fraction",
    "tranche.dev/gpu-fraction,   tranche-scheduler, did not pass Tranche's webhook",
    "tranche.dev/gpu-fraction,   ,                  did not pass Tranche's webhook",
    "tranche.dev/gpu-memory-limit, default-scheduler, gpu-memory-limit requests no GPU",
    "tranche.dev/gpus-served-by, default-scheduler, leaves it to nodes that Tranche does not serve",
    "note,                       default-scheduler, has no annotation of Tranche's",
  })
  void podThatTrancheLeavesAlone_isToldWhy(String annotation, String scheduler, String why) {
    assertThat(leftAlone(Map.of(annotation, "0.3"), scheduler)).contains(why);
  }

  @Test
  void podOfAWorkload_isToldWhereAnnotationsBelong() {
    var pod =
        new PodBuilder()
            .withNewMetadata()
            .addNewOwnerReference()
            .withKind("ReplicaSet")
            .endOwnerReference()
            .endMetadata()
            .build();
    assertThat(StoredPods.leftAlone(pod, "tranche-scheduler"))
        .contains("spec.template.metadata.annotations");
  }

  private static String leftAlone(Map<String, String> annotations, String scheduler) {
    return StoredPods.leftAlone(
        new PodBuilder()
            .withNewMetadata()
            .withAnnotations(annotations)
            .endMetadata()
            .withNewSpec()
            .withSchedulerName(scheduler)
            .endSpec()
            .build(),
        "tranche-scheduler");
  }
}
