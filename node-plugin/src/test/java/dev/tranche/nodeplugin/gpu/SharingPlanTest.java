package dev.tranche.nodeplugin.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.Configs;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SharingPlanTest {
  private static final GpuSharing UNSHARED = GpuSharing.unshared("nvidia.com/gpu");

  static GpuInfo gpu(int index) {
    return new GpuInfo(index, "GPU-" + index, "Tesla T4", index, 0, 0, -1, 0, Mig.OFF);
  }

  private static SharingPlan plan(int gpus, String yaml) {
    Config config = Configs.ofFile(yaml, "--mps-root=/mps", "--nvidia-compatible=extended");
    return SharingPlan.of(config, IntStream.range(0, gpus).mapToObj(i -> gpu(i)).toList());
  }

  private static String sliced(String... entries) {
    return "sharing: {timeSlicing: {resources: [" + String.join(", ", entries) + "]}}";
  }

  private static GpuSharing shared(String resource, int replicas) {
    return new GpuSharing(resource, replicas, SharingStrategy.TIME_SLICING, false);
  }

  private static Map<String, GpuSharing> byUuid(SharingPlan plan) {
    return switch (plan) {
      case SharingPlan.Fits fits -> fits.byUuid();
      case SharingPlan.DoesNotFit misfit ->
          Map.of(misfit.reason(), GpuSharing.unshared("does not fit"));
    };
  }

  private static List<String> warnings(SharingPlan plan) {
    return plan instanceof SharingPlan.Fits fits ? fits.warnings() : List.of("does not fit");
  }

  private static String reason(SharingPlan plan) {
    return plan instanceof SharingPlan.DoesNotFit misfit ? misfit.reason() : "fits";
  }

  @Test
  void withoutSharing_everyGpuIsWhole() {
    assertThat(byUuid(plan(2, ""))).isEqualTo(Map.of("GPU-0", UNSHARED, "GPU-1", UNSHARED));
  }

  @Test
  void exclusiveGpus_standBesideSharedOnes() {
    SharingPlan plan =
        plan(3, sliced("{name: gpu, rename: gpu.shared, devices: [0, GPU-2], replicas: 10}"));
    GpuSharing ten = shared("nvidia.com/gpu.shared", 10);
    assertThat(byUuid(plan)).isEqualTo(Map.of("GPU-0", ten, "GPU-1", UNSHARED, "GPU-2", ten));
    assertThat(warnings(plan)).isEmpty();
    assertThat(plan)
        .isInstanceOfSatisfying(
            SharingPlan.Fits.class,
            fits ->
                assertThat(fits.summary())
                    .isEqualTo(
                        "nvidia.com/gpu: 1 GPU, 1 replica; nvidia.com/gpu.shared: 2 GPUs, 20"
                            + " replicas"));
  }

  @Test
  void severalEntries_giveEachGpuItsOwnReplicas() {
    SharingPlan plan =
        plan(
            3,
            sliced(
                "{name: gpu, devices: [0], replicas: 10}",
                "{name: gpu, devices: [1], replicas: 4}",
                "{name: gpu, devices: [2], replicas: 2}"));
    assertThat(byUuid(plan))
        .isEqualTo(
            Map.of(
                "GPU-0", shared("nvidia.com/gpu", 10),
                "GPU-1", shared("nvidia.com/gpu", 4),
                "GPU-2", shared("nvidia.com/gpu", 2)));
    assertThat(warnings(plan)).isEmpty();
  }

  @Test
  void count_takesTheFirst_andReplicasUnderOneNameBesideWholeGpusAreWarnedAbout() {
    SharingPlan plan = plan(2, sliced("{name: gpu, devices: 1, replicas: 4}"));
    assertThat(byUuid(plan))
        .isEqualTo(Map.of("GPU-0", shared("nvidia.com/gpu", 4), "GPU-1", UNSHARED));
    assertThat(warnings(plan)).singleElement().asString().contains("replicas and whole GPUs");
  }

  @Test
  void oneReplica_isNotShared_andNotRenamed() {
    String yaml =
        "sharing: {timeSlicing: {renameByDefault: true, resources: [{name: gpu, replicas: 1}]}}";
    assertThat(byUuid(plan(1, yaml))).isEqualTo(Map.of("GPU-0", UNSHARED));
  }

  @Test
  void mpsAndTimeSlicing_shareANodeByGpu() {
    String yaml =
        """
        sharing:
          timeSlicing: {resources: [{name: gpu, devices: [0], replicas: 4}]}
          mps: {resources: [{name: gpu, rename: gpu.mps, devices: [1], replicas: 8}]}
        """;
    assertThat(byUuid(plan(2, yaml)))
        .isEqualTo(
            Map.of(
                "GPU-0",
                shared("nvidia.com/gpu", 4),
                "GPU-1",
                new GpuSharing("nvidia.com/gpu.mps", 8, SharingStrategy.MPS, true)));
    assertThat(reason(plan(2, yaml.replace(", rename: gpu.mps", ""))))
        .contains("by MPS and by time-slicing");
  }

  @Test
  void resourceNames_decideWhatAnEntrySpeaksOf() {
    String yaml = "resources: {gpus: [{pattern: 'A*', name: a100}]}\n";
    SharingPlan plan = plan(1, yaml + sliced("{name: a100, replicas: 4}"));
    assertThat(byUuid(plan)).isEqualTo(Map.of("GPU-0", UNSHARED));
    assertThat(warnings(plan)).singleElement().asString().contains("shares nothing");
    yaml = yaml.replace("A*", "Tesla*");
    assertThat(byUuid(plan(1, yaml + sliced("{name: a100, replicas: 4}"))))
        .isEqualTo(Map.of("GPU-0", shared("nvidia.com/a100", 4)));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "devices: [7] | sharing.timeSlicing.resources[0].devices has 7, but there are only: 0"
            + " (GPU-0)",
        "devices: 3 | sharing.timeSlicing.resources[0].devices is 3, but there are 1 GPUs",
      })
  void missingDevices_areWarnedAbout_andTheOthersAreServed(String devices, String warning) {
    SharingPlan plan = plan(1, sliced("{name: gpu, replicas: 2, " + devices + "}"));
    assertThat(byUuid(plan)).containsOnlyKeys("GPU-0");
    assertThat(warnings(plan)).anyMatch(w -> w.startsWith(warning));
  }

  @Test
  void gpuInTwoEntries_doesNotFit() {
    SharingPlan plan =
        plan(2, sliced("{name: gpu, replicas: 2}", "{name: gpu, devices: [1], replicas: 4}"));
    assertThat(reason(plan))
        .isEqualTo(
            "GPU 1 (GPU-1) is in sharing.timeSlicing.resources[0] and in"
                + " sharing.timeSlicing.resources[1]; give each of them its own devices");
  }

  @Test
  void tooManyReplicas_doNotFit_andTheLimitIsNamed() {
    assertThat(reason(plan(5, sliced("{name: gpu, replicas: 2000}")))).isEqualTo("fits");
    assertThat(reason(plan(6, sliced("{name: gpu, replicas: 2000}"))))
        .contains("12000")
        .contains("lower replicas to 1666");
  }
}
