package dev.tranche.nodeplugin.kubelet;

import static dev.tranche.nodeplugin.kubelet.SharedGpus.ids;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.HeldReplicas;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.nodeplugin.limit.NodeLimits;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Which containers NVIDIA's hook limits, and to how much. */
class LimitVariablesTest {
  private static final NodeLimits LIMITS = new NodeLimits(true, true, Optional.empty());
  private static final Mig.Device MIG = new Mig.Device(0, "GPU-m", "1g.5gb", 7, 0, List.of());

  private static NodeLimits lacking(String what) {
    return new NodeLimits(true, true, Optional.of(what));
  }

  private static GpuInfo gpu(String uuid, int totalMib, Mig mig) {
    return new GpuInfo(0, uuid, "H100", 0, (long) totalMib << 20, 480L << 20, -1, 9, mig);
  }

  private static Map<String, String> limit(
      NodeLimits limits, SharingStrategy strategy, Mig mig, List<String> ids, String... flags) {
    return variables(limits, strategy, mig, ids, OptionalLong.empty(), flags);
  }

  private static Map<String, String> wanting(NodeLimits limits, int replicas, long wantedMib) {
    return variables(
        limits,
        SharingStrategy.TIME_SLICING,
        Mig.OFF,
        ids("GPU-a", replicas),
        OptionalLong.of(wantedMib << 20));
  }

  private static Map<String, String> variables(
      NodeLimits limits,
      SharingStrategy strategy,
      Mig mig,
      List<String> ids,
      OptionalLong wanted,
      String... flags) {
    GpuSharing ten = new GpuSharing("nvidia.com/gpu", 10, strategy, false);
    List<GpuInfo> gpus = List.of(gpu("GPU-a", 81_559, mig), gpu("GPU-b", 40_960, mig));
    Replicas replicas = SharedGpus.replicas(ten, gpus, flags);
    var verdict =
        new Allocation(replicas, HostNodes.NONE, new HeldReplicas(), limits)
            .decide(ids, new AllocationCalls.Expected(List.of(), 0, true, "", wanted));
    return switch (verdict) {
      case Allocation.Verdict.Refused refused -> Map.of(refused.outcome(), refused.message());
      case Allocation.Verdict.Granted granted -> {
        var ours = new TreeMap<>(granted.response().getEnvsMap());
        ours.keySet()
            .removeIf(
                name ->
                    !name.startsWith("NVIDIA_GPU_MEMORY_")
                        && (wanted.isEmpty() || !name.equals("TRANCHE_GPU_MEMORY_MIB")));
        yield ours;
      }
    };
  }

  private static Map<String, String> timeSliced(NodeLimits limits, List<String> ids) {
    return limit(limits, SharingStrategy.TIME_SLICING, Mig.OFF, ids);
  }

  private static Map<String, String> mib(String limit) {
    return Map.of("NVIDIA_GPU_MEMORY_LIMIT", limit, "NVIDIA_GPU_MEMORY_REQUEST", "0");
  }

  @Test
  void shareOfATimeSlicedGpu_isLimitedToItsPartOfTheUsableMemory() {
    for (String strategy : List.of("envvar", "volume-mounts", "cdi-annotations", "cdi-cri")) {
      assertThat(
              limit(
                  LIMITS,
                  SharingStrategy.TIME_SLICING,
                  Mig.OFF,
                  ids("GPU-a", 3),
                  "--device-list-strategy=" + strategy))
          .isEqualTo(mib("24323"));
    }
  }

  @Test
  void ofSeveralGpus_theSmallestShareCounts() {
    List<String> both = Stream.concat(ids("GPU-a", 3).stream(), ids("GPU-b", 3).stream()).toList();
    assertThat(timeSliced(LIMITS, both)).isEqualTo(mib("12144"));
  }

  @Test
  void wholeGpusMpsAndMig_areNotLimited_norAnythingWhereLimitsAreNotRequired() {
    assertThat(timeSliced(LIMITS, ids("GPU-a", 10))).isEmpty();
    assertThat(timeSliced(NodeLimits.NONE, ids("GPU-a", 3))).isEmpty();
    assertThat(limit(LIMITS, SharingStrategy.TIME_SLICING, MIG, ids("GPU-a", 3))).isEmpty();
    String[] mps = {"--mps-root=/mps"};
    assertThat(limit(LIMITS, SharingStrategy.MPS, Mig.OFF, ids("GPU-a", 3), mps)).isEmpty();
  }

  @Test
  void podsOwnLimit_counts_ifItIsBelowTheShare() {
    Map<String, String> own = new TreeMap<>(mib("1024"));
    own.put("TRANCHE_GPU_MEMORY_MIB", "1024");
    assertThat(wanting(LIMITS, 3, 1_024)).isEqualTo(own);
    own.replaceAll((name, value) -> value.equals("0") ? value : "24323");
    assertThat(wanting(LIMITS, 3, 30_000)).isEqualTo(own);
    assertThat(wanting(LIMITS, 10, 1_024)).containsOnlyKeys("TRANCHE_GPU_MEMORY_MIB");
  }

  @Test
  void podThatOptsOut_hasNoLimit_unlessThatIsForbidden() {
    Map<String, String> share = Map.of("TRANCHE_GPU_MEMORY_MIB", "24323");
    assertThat(wanting(LIMITS, 3, 0)).isEqualTo(share);
    assertThat(wanting(lacking("it is old"), 3, 0)).isEqualTo(share);
    NodeLimits strict = new NodeLimits(true, false, Optional.empty());
    assertThat(wanting(strict, 3, 0)).containsEntry("NVIDIA_GPU_MEMORY_LIMIT", "24323");
  }

  @Test
  void shareThatCannotBeLimited_isRefused_withTheReason() {
    NodeLimits none = lacking("driver 580 has none");
    assertThat(timeSliced(none, ids("GPU-a", 3)))
        .hasEntrySatisfying(
            "no_memory_limit",
            message -> assertThat(message).contains("cannot be limited: driver 580 has none"));
    assertThat(timeSliced(none, ids("GPU-a", 10))).isEmpty();
  }
}
