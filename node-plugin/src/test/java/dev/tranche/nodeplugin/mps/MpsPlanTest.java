package dev.tranche.nodeplugin.mps;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.Configs;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.SharingPlan;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MpsPlanTest {
  private static final List<GpuInfo> GPUS = List.of(gpu(0, 7), gpu(1, 7));

  private static GpuInfo gpu(int index, int computeMajor) {
    return new GpuInfo(
        index, "GPU-" + index, "Tesla T4", index, 15360L << 20, 0, -1, computeMajor, Mig.OFF);
  }

  private static GpuSharing sharing(int replicas, boolean failGreater) {
    return new GpuSharing("nvidia.com/gpu", replicas, SharingStrategy.MPS, failGreater);
  }

  private static MpsPlan plan(boolean standAlone, GpuSharing first, GpuSharing second) {
    return MpsPlan.of(Map.of("GPU-0", first, "GPU-1", second), GPUS, standAlone);
  }

  @Test
  void standAlone_daemonsDefaultsAreOneReplicas() {
    MpsPlan plan = plan(true, sharing(10, true), sharing(10, true));
    assertThat(plan.sets()).singleElement().returns("", MpsSet::visibleDevices);
    assertThat(plan.sets().getFirst().commands())
        .containsExactly(
            "set_default_device_pinned_mem_limit GPU-0 1536M",
            "set_default_device_pinned_mem_limit GPU-1 1536M",
            "set_default_active_thread_percentage 10");
  }

  @ParameterizedTest
  @CsvSource({"false, true", "true, false"})
  void sharesOfSeveralReplicas_needACeilingOfTheWholeGpu(boolean standAlone, boolean failGreater) {
    MpsPlan plan = plan(standAlone, sharing(10, failGreater), sharing(10, failGreater));
    assertThat(plan.sets().getFirst().commands())
        .containsExactly(
            "set_default_device_pinned_mem_limit GPU-0 15360M",
            "set_default_device_pinned_mem_limit GPU-1 15360M",
            "set_default_active_thread_percentage 100");
  }

  @Test
  void gpuOfUnknownMemory_hasNoLimitOfIt() {
    GpuInfo unified = new GpuInfo(0, "GPU-0", "NVIDIA GB10", 0, 0, 0, -1, 12, Mig.OFF);
    MpsPlan plan = MpsPlan.of(Map.of("GPU-0", sharing(10, true)), List.of(unified), true);
    assertThat(plan.sets().getFirst().commands())
        .containsExactly("set_default_active_thread_percentage 10");
  }

  @Test
  void oneGpuOfTwo_isTheOnlyOneThatItsDaemonSees() {
    MpsPlan plan = plan(true, GpuSharing.unshared("nvidia.com/gpu"), sharing(4, true));
    assertThat(plan.sets()).singleElement().returns("GPU-1", MpsSet::visibleDevices);
    assertThat(plan.lines()).containsExactly("GPU-1 4 nvidia.com/gpu");
  }

  @Test
  void daemonOfMoreGpus_staysOnlyForThoseThatAreNotListed() {
    MpsPlan both = plan(true, sharing(4, true), sharing(4, true));
    MpsPlan first = MpsPlan.of(Map.of("GPU-0", sharing(4, true)), GPUS.subList(0, 1), true);
    Set<String> all = Set.of("GPU-0", "GPU-1");
    assertThat(both.covers(both, all)).isTrue();
    assertThat(both.covers(first, Set.of("GPU-0"))).isTrue();
    assertThat(both.covers(MpsPlan.NONE, Set.of())).isTrue();
    assertThat(both.covers(first, all)).isFalse();
    assertThat(first.covers(both, all)).isFalse();
    assertThat(both.covers(plan(true, sharing(4, true), sharing(5, true)), all)).isFalse();
    assertThat(both.covers(plan(false, sharing(4, true), sharing(4, true)), all)).isFalse();
    MpsPlan returned = MpsPlan.of(sharingOfBoth(4), GPUS.reversed(), true);
    assertThat(both.covers(returned, all)).isTrue();
  }

  @Test
  void daemonOfAllGpus_isReplacedForOneMore_whichItWouldUse() {
    MpsPlan second = plan(true, GpuSharing.unshared("nvidia.com/gpu"), sharing(4, true));
    MpsPlan alone = MpsPlan.of(Map.of("GPU-1", sharing(4, true)), GPUS.subList(1, 2), true);
    assertThat(alone.covers(second, Set.of("GPU-0", "GPU-1"))).isFalse();
    assertThat(second.covers(alone, Set.of("GPU-1"))).isTrue();
  }

  private static Map<String, GpuSharing> sharingOfBoth(int replicas) {
    return Map.of("GPU-0", sharing(replicas, true), "GPU-1", sharing(replicas, true));
  }

  @Test
  void textThatIsNoPlan_isAnIoException() {
    assertThatThrownBy(() -> MpsPlan.parse("nvidia.com/gpu GPU-0 many\n"))
        .isInstanceOf(IOException.class);
  }

  @Test
  void text_isReadAsThePlan() throws IOException {
    for (boolean one : List.of(true, false)) {
      MpsPlan both = plan(one, sharing(10, true), sharing(10, true));
      assertThat(MpsPlan.parse(both.text())).isEqualTo(both);
      MpsPlan second = plan(one, GpuSharing.unshared("nvidia.com/gpu"), sharing(4, true));
      assertThat(MpsPlan.parse(second.text())).isEqualTo(second);
    }
    assertThat(MpsPlan.parse(MpsPlan.NONE.text())).isEqualTo(MpsPlan.NONE);
  }

  @Test
  void timeSlicing_needsNoDaemon() {
    var sliced = new GpuSharing("nvidia.com/gpu", 4, SharingStrategy.TIME_SLICING, false);
    assertThat(plan(true, sliced, sliced).needed()).isFalse();
  }

  @ParameterizedTest
  @CsvSource({"6, 16", "7, 48", "9, 48", "0, 16"})
  void clientLimit_isOfTheArchitecture(int computeMajor, int clients) {
    assertThat(gpu(0, computeMajor).mpsClientsMax()).isEqualTo(clients);
  }

  @ParameterizedTest
  @CsvSource({"7, 48, ''", "7, 49, lower replicas to 48", "6, 17, lower replicas to 16"})
  void moreReplicasThanClients_areAConfigErrorThatNamesTheLimit(
      int computeMajor, int replicas, String sentence) {
    String file =
        "{version: v1, sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: %d}]}}}"
            .formatted(replicas);
    Config config = Configs.ofFile(file, "--mps-root=/run/nvidia/mps");
    String refused =
        switch (SharingPlan.of(config, List.of(gpu(0, computeMajor)))) {
          case SharingPlan.Fits ignored -> "";
          case SharingPlan.DoesNotFit misfit -> misfit.reason();
        };
    if (sentence.isEmpty()) {
      assertThat(refused).isEmpty();
    } else {
      assertThat(refused)
          .contains("sharing.mps.resources[0].replicas is " + replicas)
          .contains("GPU-0")
          .endsWith(sentence);
    }
  }

  @Test
  void whileNoDaemonServes_mpsGpusAreWhole() {
    Config config = Configs.of();
    var sliced = new GpuSharing("nvidia.com/gpu.shared", 4, SharingStrategy.TIME_SLICING, false);
    assertThat(
            MpsPlan.withoutMps(Map.of("GPU-0", sharing(10, true), "GPU-1", sliced), config, GPUS))
        .containsOnly(
            Map.entry("GPU-0", GpuSharing.unshared("nvidia.com/gpu")), Map.entry("GPU-1", sliced));
  }
}
