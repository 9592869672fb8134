package dev.tranche.nodeplugin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.nodeplugin.config.Configs;
import dev.tranche.nodeplugin.config.OveruseOptions;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.gpu.NodeReplicas;
import dev.tranche.nodeplugin.gpu.Replica;
import dev.tranche.nodeplugin.gpu.SharingPlan;
import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.kubelet.Hardware;
import dev.tranche.nodeplugin.limit.ContainerLimit;
import dev.tranche.nodeplugin.limit.NodeLimits;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import dev.tranche.nodeplugin.usage.ContainerName;
import dev.tranche.nodeplugin.usage.Overuse;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which config is in use, as configs and GPUs come and go. */
class PluginStateTest {
  private final PluginState state = new PluginState(() -> Hardware.NONE);

  private static PluginState limited(String obstacle) {
    var limits = new NodeLimits(true, true, Optional.of(obstacle));
    return new PluginState(() -> Hardware.NONE.withLimits(limits, List.of()));
  }

  @Test
  void gpuThatCannotBeLimited_takesNoShares_whereLimitsAreRequired() {
    PluginState limited = limited("it is old");
    limited.config(replicas(4));
    limited.gpus(withMemory(15_360));
    assertThat(limited.replicas().orElseThrow().count(Replica::healthy)).isZero();
    assertThat(limited.advertisedGpus().getLast().health().reason())
        .contains("memoryLimits is required, and its memory cannot be limited: it is old");
    assertThat(limited.limitProblem().orElseThrow().sentence())
        .contains("GPU-0, GPU-1 cannot be limited");
    limited.gpus(gpus(2));
    assertThat(limited.limitProblem().orElseThrow().sentence())
        .contains("NVML does not report the memory of GPU 0");
  }

  @Test
  void limitsThatWereReadBack_areReportedWithTheirGpu() {
    var container = new ContainerName("ns", "p", "main");
    var read = new ContainerLimit(container, "GPU-1", ContainerLimit.Limited.PARTLY, 5, -1);
    var state = new PluginState(() -> Hardware.NONE.withLimits(NodeLimits.NONE, List.of(read)));
    state.config(replicas(4));
    state.gpus(gpus(2));
    var overuse = new Overuse(new OveruseOptions(0.05, 3, false));
    var report = new ReportBuilder("node", "run", overuse).report(state, true, 0, 0).build();
    assertThat(report.getGpus(0).getLimitsList()).isEmpty();
    assertThat(report.getGpus(1).getLimitsList())
        .containsExactly(
            dev.tranche.api.node.ContainerLimit.newBuilder()
                .setNamespace("ns")
                .setPod("p")
                .setContainer("main")
                .setLimited(dev.tranche.api.node.Limited.LIMITED_PARTLY)
                .build());
  }

  /** NVML adjusts one of its answers to a limit of the caller, and may adjust others some day. */
  @Test
  void totalThatMoves_leavesTheReplicas() {
    state.config(replicas(4));
    state.gpus(withMemory(15_360));
    NodeReplicas before = state.replicas().orElseThrow();
    state.gpus(withMemory(1_024));
    NodeReplicas after = state.replicas().orElseThrow();
    assertThat(after.sharing()).isEqualTo(before.sharing());
    assertThat(ids(after)).isEqualTo(ids(before)).hasSize(8);
    assertThat(after.count(Replica::healthy)).isEqualTo(8);
  }

  private static List<GpuStatus> withMemory(long totalMib) {
    return gpus(2).stream()
        .map(GpuStatus::info)
        .map(gpu -> new GpuInfo(gpu.index(), gpu.uuid(), "", 0, totalMib << 20, 0, -1, 0, Mig.OFF))
        .map(info -> new GpuStatus(info, new Health.Healthy(), null))
        .toList();
  }

  private static List<String> ids(NodeReplicas replicas) {
    return replicas.byResource().stream()
        .flatMap(each -> each.all().stream())
        .map(Replica::id)
        .toList();
  }

  @Test
  void wholeGpus_needNoLimit() {
    PluginState limited = limited("it is old");
    limited.config(replicas(1));
    limited.gpus(gpus(2));
    assertThat(limited.replicas().orElseThrow().count(Replica::healthy)).isEqualTo(2);
    assertThat(limited.limitProblem()).isEmpty();
  }

  private static List<GpuStatus> gpus(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> new GpuInfo(i, "GPU-" + i, "Tesla T4", i, 0, 0, -1, 0, Mig.OFF))
        .map(info -> new GpuStatus(info, new Health.Healthy(), null))
        .toList();
  }

  private static Outcome.Usable replicas(int replicas) {
    return config("timeSlicing", replicas);
  }

  private static Outcome.Usable config(String strategy, int replicas) {
    String yaml =
        "sharing: {%s: {resources: [{name: gpu, replicas: %d}]}}".formatted(strategy, replicas);
    return Configs.usable("of-" + replicas, yaml, "--mps-root=/mps");
  }

  private int healthy() {
    return state.replicas().map(r -> r.count(Replica::healthy)).orElse(-1);
  }

  @Test
  void deviceOfAConfig_isOneGpu_alsoWhenALostOnesIndexIsAnothers() {
    String yaml =
        "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 10, devices: ['0']}]}}";
    state.config(Configs.usable("one", yaml, "--nvidia-compatible=extended"));
    List<GpuStatus> both = gpus(2);
    state.gpus(both);
    assertThat(healthy()).isEqualTo(11);
    GpuStatus lost = new GpuStatus(both.getFirst().info(), new Health.Lost("it is gone"), null);
    GpuStatus moved = new GpuStatus(both.getLast().info().withIndex(0), new Health.Healthy(), null);
    state.gpus(List.of(lost, moved));
    assertThat(healthy()).isEqualTo(1);
    assertThat(state.replicas().orElseThrow().sharing())
        .hasEntrySatisfying("GPU-1", how -> assertThat(how.shared()).isFalse());
  }

  @Test
  void configBeforeTheGpus_isUsedOnceTheyAreKnown() {
    assertThat(state.config(replicas(4))).isEmpty();
    assertThat(state.configKnown()).isTrue();
    assertThat(state.replicas()).isEmpty();
    assertThat(state.gpus(gpus(2))).containsInstanceOf(SharingPlan.Fits.class);
    assertThat(healthy()).isEqualTo(8);
    assertThat(state.gpus(gpus(2))).isEmpty();
    assertThat(state.replicas()).containsSame(state.replicas().orElseThrow());
  }

  @Test
  void mpsPlan_needsNoLostGpu_butStaysNeededWhenAllAreLost() {
    List<GpuStatus> both = gpus(2);
    state.gpus(both);
    state.config(config("mps", 4));
    assertThat(state.requiredMps(true).lines()).hasSize(2);
    state.gpus(List.of(lost(both.get(0)), both.get(1)));
    assertThat(state.requiredMps(true).lines()).containsExactly("GPU-1 4 nvidia.com/gpu");
    state.gpus(both.stream().map(PluginStateTest::lost).toList());
    assertThat(state.requiredMps(true).needed()).isTrue();
  }

  private static GpuStatus lost(GpuStatus gpu) {
    return new GpuStatus(gpu.info(), new Health.Lost("off the bus"), null);
  }

  @Test
  void gpuThatCannotBeGiven_isAdvertisedAsUnhealthy() {
    state.gpus(gpus(2));
    state.config(replicas(4));
    NodeReplicas all = state.replicas().orElseThrow();
    assertThat(all.healthyOnly(Set.of("GPU-0", "GPU-1"))).isSameAs(all);
    NodeReplicas one = all.healthyOnly(Set.of("GPU-1"));
    assertThat(one.count(Replica::healthy)).isEqualTo(4);
    assertThat(one.byResource().getFirst().all())
        .hasSize(8)
        .allMatch(r -> r.healthy() == r.id().startsWith("GPU-1"));
  }

  @Test
  void firstConfigThatDoesNotFit_leavesNone() {
    state.config(replicas(6000));
    assertThat(state.gpus(gpus(2))).containsInstanceOf(SharingPlan.DoesNotFit.class);
    assertThat(state.configKnown()).isFalse();
    assertThat(state.configStatus().getName()).isEmpty();
    assertThat(state.replicas()).isEmpty();
    assertThat(state.gpus(gpus(1))).containsInstanceOf(SharingPlan.Fits.class);
    assertThat(healthy()).isEqualTo(6000);
  }

  @Test
  void firstConfigThatDoesNotFit_leavesTheOneOfTheEarlierRun() {
    state.config(replicas(4));
    state.config(replicas(7000));
    state.config(replicas(6000));
    assertThat(state.gpus(gpus(2))).containsInstanceOf(SharingPlan.DoesNotFit.class);
    assertThat(state.configKnown()).isTrue();
    assertThat(state.configStatus().getName()).isEqualTo("of-4");
    assertThat(healthy()).isEqualTo(8);
    assertThat(state.gpus(gpus(1))).containsInstanceOf(SharingPlan.Fits.class);
    assertThat(state.configStatus().getName()).isEqualTo("of-6000");
    assertThat(healthy()).isEqualTo(6000);
  }

  @Test
  void channelThatVanishes_leavesTheConfigInUse_alsoForOtherGpus() {
    var nodes = new HostNodes(List.of(), true, Map.of(), true);
    var hardware = new AtomicReference<>(Hardware.NONE.withNodes(nodes));
    var withChannel = new PluginState(hardware::get);
    withChannel.config(Configs.usable("imex", "imex: {channelIDs: [0], required: true}"));
    withChannel.gpus(gpus(1));
    hardware.set(Hardware.NONE);
    assertThat(withChannel.gpus(gpus(2))).containsInstanceOf(SharingPlan.DoesNotFit.class);
    assertThat(withChannel.replicas().orElseThrow().count(Replica::healthy)).isEqualTo(2);
  }

  @Test
  void configThatDoesNotFit_leavesTheOneBefore_andIsTriedAgainWithOtherGpus() {
    state.gpus(gpus(2));
    state.config(replicas(4));
    assertThat(state.config(replicas(4000))).containsInstanceOf(SharingPlan.Fits.class);
    assertThat(state.config(replicas(6000))).containsInstanceOf(SharingPlan.DoesNotFit.class);
    assertThat(healthy()).isEqualTo(8000);
    assertThat(state.gpus(gpus(3))).containsInstanceOf(SharingPlan.DoesNotFit.class);
    // Three times 4,000 do not fit either: what was planned stays.
    assertThat(healthy()).isEqualTo(8000);
    assertThat(state.gpus(gpus(1))).containsInstanceOf(SharingPlan.Fits.class);
    assertThat(healthy()).isEqualTo(6000);
  }
}
