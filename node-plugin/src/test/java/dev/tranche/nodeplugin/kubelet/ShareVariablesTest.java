package dev.tranche.nodeplugin.kubelet;

import static dev.tranche.nodeplugin.kubelet.SharedGpus.ids;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a container is told of its share. */
class ShareVariablesTest {
  private static final long TOTAL_BYTES = 81_559L << 20;
  private static final long RESERVED_BYTES = 480L << 20;

  private static GpuInfo gpu(String uuid, long totalBytes, long reservedBytes) {
    return new GpuInfo(0, uuid, "H100", 0, totalBytes, reservedBytes, -1, 9, Mig.OFF);
  }

  private static GpuSharing sharing(int replicas, SharingStrategy strategy) {
    return new GpuSharing("nvidia.com/gpu", replicas, strategy, false);
  }

  private static Map<String, String> variables(
      List<String> ids, List<GpuInfo> gpus, GpuSharing sharing, String... flags) {
    var verdict =
        AllocationTest.allocation(SharedGpus.replicas(sharing, gpus, flags))
            .decide(ids, AllocationTest.expected(List.of(), 0, true));
    return switch (verdict) {
      case Allocation.Verdict.Refused refused -> Map.of("refused", refused.message());
      case Allocation.Verdict.Granted granted -> {
        var ours = new TreeMap<>(granted.response().getEnvsMap());
        ours.keySet().removeIf(name -> !name.startsWith("TRANCHE_"));
        yield ours;
      }
    };
  }

  private static Map<String, String> ofOne(int picked, int replicas, String... flags) {
    return variables(
        ids("GPU-a", picked),
        List.of(gpu("GPU-a", TOTAL_BYTES, RESERVED_BYTES)),
        sharing(replicas, SharingStrategy.TIME_SLICING),
        flags);
  }

  @ParameterizedTest
  @ValueSource(strings = {"envvar", "volume-mounts", "cdi-annotations", "cdi-cri"})
  void share_isToldInEveryStrategy(String strategy) {
    assertThat(ofOne(3, 10, "--device-list-strategy=" + strategy))
        .isEqualTo(Map.of("TRANCHE_GPU_FRACTION", "0.3", "TRANCHE_GPU_MEMORY_MIB", "24323"));
  }

  @Test
  void shareOfAGpuUnderMps_isToldToo() {
    assertThat(
            variables(
                ids("GPU-a", 5),
                List.of(gpu("GPU-a", TOTAL_BYTES, RESERVED_BYTES)),
                sharing(10, SharingStrategy.MPS),
                "--mps-root=/run/mps"))
        .isEqualTo(Map.of("TRANCHE_GPU_FRACTION", "0.5", "TRANCHE_GPU_MEMORY_MIB", "40539"));
  }

  @Test
  void fraction_isRoundedDown_soThatAllSharesFit() {
    assertThat(ofOne(1, 3))
        .isEqualTo(Map.of("TRANCHE_GPU_FRACTION", "0.3333", "TRANCHE_GPU_MEMORY_MIB", "27026"));
    assertThat(ofOne(2, 3)).containsEntry("TRANCHE_GPU_FRACTION", "0.6666");
  }

  @Test
  void wholeGpu_isOne() {
    assertThat(ofOne(10, 10))
        .isEqualTo(Map.of("TRANCHE_GPU_FRACTION", "1", "TRANCHE_GPU_MEMORY_MIB", "81079"));
    assertThat(
            variables(
                List.of("GPU-a"),
                List.of(gpu("GPU-a", TOTAL_BYTES, RESERVED_BYTES)),
                sharing(1, SharingStrategy.NONE)))
        .containsEntry("TRANCHE_GPU_FRACTION", "1");
  }

  @Test
  void ofSeveralGpus_theSmallestShareCounts() {
    List<String> both = new ArrayList<>(ids("GPU-a", 5));
    both.addAll(ids("GPU-b", 2));
    assertThat(
            variables(
                both,
                List.of(gpu("GPU-a", 1000L << 20, 0), gpu("GPU-b", 4000L << 20, 0)),
                sharing(10, SharingStrategy.TIME_SLICING)))
        .isEqualTo(Map.of("TRANCHE_GPU_FRACTION", "0.2", "TRANCHE_GPU_MEMORY_MIB", "500"));
  }

  @Test
  void memoryThatNvmlDoesNotTell_isLeftOut() {
    assertThat(
            variables(
                ids("GPU-a", 3),
                List.of(gpu("GPU-a", 0, 0)),
                sharing(10, SharingStrategy.TIME_SLICING)))
        .isEqualTo(Map.of("TRANCHE_GPU_FRACTION", "0.3"));
  }
}
