package dev.tranche.nodeplugin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Holding;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.HeldReplica;
import dev.tranche.nodeplugin.gpu.HeldReplicas;
import dev.tranche.nodeplugin.gpu.NodeProblem;
import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.kubelet.ExpectedLimits;
import dev.tranche.nodeplugin.limit.ContainerLimit;
import dev.tranche.nodeplugin.limit.ContainerLimit.Limited;
import dev.tranche.nodeplugin.limit.ExpectedLimit;
import dev.tranche.nodeplugin.limit.LimitGauges;
import dev.tranche.nodeplugin.limit.NodeLimits;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import dev.tranche.nodeplugin.usage.ContainerName;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which limits containers should have, and what is said of those that have not. */
class ExpectedLimitsTest {
  private static final String GPU = "nvidia.com/gpu";
  private static final List<GpuStatus> GPUS = List.of(gpu("GPU-a", 81_559), gpu("GPU-b", 40_960));

  private static GpuStatus gpu(String uuid, long totalMib) {
    GpuInfo info = new GpuInfo(0, uuid, "H100", 0, totalMib << 20, 480L << 20, -1, 9, Mig.OFF);
    return new GpuStatus(info, new Health.Healthy(), null);
  }

  private static Map<String, GpuSharing> sharing(SharingStrategy strategy) {
    GpuSharing five = new GpuSharing(GPU, 5, strategy, false);
    return Map.of("GPU-a", five, "GPU-b", five);
  }

  private static Holding holding(String container, int replicasPerGpu, String uuid, int replicas) {
    return Holding.newBuilder()
        .setNamespace("ns")
        .setPod("p")
        .setContainer(container)
        .setResource(GPU)
        .setReplicasPerGpu(replicasPerGpu)
        .addAllDeviceIds(IntStream.range(0, replicas).mapToObj(i -> uuid + "::" + i).toList())
        .build();
  }

  private static ContainerName name(String container) {
    return new ContainerName("ns", "p", container);
  }

  private static List<ExpectedLimit> expected(SharingStrategy strategy, Holding... holdings) {
    return expected(strategy, new HeldReplicas(), holdings);
  }

  private static List<ExpectedLimit> expected(
      SharingStrategy strategy, HeldReplicas held, Holding... holdings) {
    return ExpectedLimits.of(
        List.of(holdings),
        GPUS,
        sharing(strategy),
        new NodeLimits(true, true, Optional.empty()),
        held);
  }

  @Test
  void container_hasTheLimitOfItsGrant_inTheReplicasOfThatTime() {
    assertThat(
            expected(
                SharingStrategy.TIME_SLICING,
                holding("main", 10, "GPU-a", 3),
                holding("sidecar", 5, "GPU-a", 1)))
        .containsExactly(
            new ExpectedLimit(name("main"), "GPU-a", 24_323L << 20),
            new ExpectedLimit(name("sidecar"), "GPU-a", 16_215L << 20));
  }

  @Test
  void ofSeveralGpus_theSmallestShareCounts_asInAllocate() {
    assertThat(
            expected(
                SharingStrategy.TIME_SLICING,
                holding("main", 10, "GPU-a", 3),
                holding("main", 10, "GPU-b", 3)))
        .containsExactly(
            new ExpectedLimit(name("main"), "GPU-a", 12_144L << 20),
            new ExpectedLimit(name("main"), "GPU-b", 12_144L << 20));
  }

  @Test
  void whatAPodSays_countsForItsContainers() {
    HeldReplicas held = new HeldReplicas();
    held.restore(
        List.of(
            new HeldReplica(GPU, "GPU-a::0", 10, "", OptionalLong.of(1L << 30)),
            new HeldReplica(GPU, "GPU-b::0", 10, "", OptionalLong.of(0))));
    assertThat(
            expected(
                SharingStrategy.TIME_SLICING,
                held,
                holding("main", 10, "GPU-a", 3),
                holding("free", 10, "GPU-b", 3)))
        .containsExactly(
            new ExpectedLimit(name("main"), "GPU-a", 1L << 30),
            new ExpectedLimit(name("free"), "GPU-b", 0));
  }

  @Test
  void wholeGpusAndMps_haveNone() {
    assertThat(expected(SharingStrategy.TIME_SLICING, holding("main", 5, "GPU-a", 5))).isEmpty();
    assertThat(expected(SharingStrategy.MPS, holding("main", 5, "GPU-a", 1))).isEmpty();
    assertThat(expected(SharingStrategy.TIME_SLICING, holding("main", 5, "GPU-z", 1))).isEmpty();
  }

  @Test
  void containersThatAreNotLimited_areNamed() {
    List<ContainerLimit> limits =
        List.of(
            new ContainerLimit(name("main"), "GPU-a", Limited.YES, 1 << 20, -1),
            new ContainerLimit(name("free"), "GPU-a", Limited.OPTED_OUT, 0, -1),
            new ContainerLimit(name("old"), "GPU-a", Limited.NO, 0, -1),
            new ContainerLimit(name("liar"), "GPU-a", Limited.PARTLY, 999L << 20, -1));
    NodeProblem problem = LimitGauges.problem(limits).orElseThrow();
    assertThat(problem.count()).isEqualTo(2);
    assertThat(problem.sentence())
        .contains("ns/p/old on GPU-a has no limit")
        .contains("ns/p/liar on GPU-a has a limit of 999 MiB")
        .doesNotContain("main")
        .doesNotContain("free");
    assertThat(LimitGauges.problem(limits.subList(0, 1))).isEmpty();
  }
}
