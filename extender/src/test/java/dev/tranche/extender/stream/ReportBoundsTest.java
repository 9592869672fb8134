package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.ContainerLimit;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuReading;
import dev.tranche.api.node.GpuShare;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeEvent;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.PodUse;
import dev.tranche.process.TokenBucket;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class ReportBoundsTest {
  private long nowMs;
  private final TokenBucket work =
      new TokenBucket(ReportBounds.UNITS_BURST, ReportBounds.UNITS_PER_S, () -> nowMs);

  private static NodeReport report(int gpus, int held, int echoes) {
    return NodeReport.newBuilder()
        .addAllGpus(Collections.nCopies(gpus, Gpu.newBuilder().setReplicas(1).build()))
        .addHoldings(
            Holding.newBuilder().addAllDeviceIds(Collections.nCopies(held, "GPU-0::0")).build())
        .addAllAssignments(Collections.nCopies(echoes, NAMED))
        .build();
  }

  private static final Assignment NAMED =
      Assignment.newBuilder().setNamespace("team-a").setPod("db-0").build();

  @Test
  void assignmentWithoutAPodsName_isRefused() {
    for (String name : new String[] {"", ".", ".."}) {
      Assignment unnamed = NAMED.toBuilder().setPod(name).build();
      assertThat(violation(NodeReport.newBuilder().addAssignments(unnamed).build())).isPresent();
    }
  }

  @Test
  void largestNode_isWithinThem() {
    assertThat(
            violation(
                report(
                    ReportBounds.GPUS_MAX,
                    ReportBounds.REPLICAS_MAX,
                    ReportBounds.ASSIGNMENTS_MAX)))
        .isEmpty();
  }

  @Test
  void whatIsTooMuch_isNamed_withWhatIsAllowed() {
    assertThat(violation(report(400_000, 1, 0)))
        .contains("a report names 400000 GPUs; 256 are allowed");
    assertThat(violation(report(1, ReportBounds.REPLICAS_MAX + 1, 0)))
        .contains("a report names 10001 held replicas; 10000 are allowed");
    var event = NodeEvent.getDefaultInstance();
    int events = ReportBounds.EVENTS_MAX + 1;
    assertThat(
            violation(
                NodeReport.newBuilder().addAllEvents(Collections.nCopies(events, event)).build()))
        .contains("a report names 65 events; 64 are allowed");
    assertThat(violation(report(1, 1, ReportBounds.ASSIGNMENTS_MAX + 1)))
        .contains("a report names 4097 assignments; 4096 are allowed");
  }

  @Test
  void holdingsWithoutReplicas_countToo() {
    var empty = Collections.nCopies(ReportBounds.REPLICAS_MAX + 1, Holding.getDefaultInstance());
    assertThat(violation(NodeReport.newBuilder().addAllHoldings(empty).build())).isPresent();
  }

  /** Twenty of these once ended a heap of 230 MB. */
  @Test
  void podsAtWork_areAsManyAsANodeCanRun() {
    var uses = new ArrayList<PodUse>();
    for (int i = 0; i < 60_000; i++) {
      uses.add(PodUse.newBuilder().setNamespace("ns").setPod("a-pod-of-the-attack-" + i).build());
    }
    var gpu = Gpu.newBuilder().setUuid("GPU-0").setReplicas(10).addAllPodUses(uses);
    var whole = NodeReport.newBuilder().addGpus(gpu).build();
    assertThat(whole.getSerializedSize()).isGreaterThan(1 << 20);
    assertThat(violation(whole))
        .contains("a report names 60000 containers at work; 4096 are allowed");
    var brief = NodeReport.newBuilder().addReadings(GpuReading.newBuilder().addAllPodUses(uses));
    assertThat(violation(brief.build())).isPresent();
  }

  @Test
  void containersWithALimit_areAsManyAsANodeCanRun() {
    var limits =
        Collections.nCopies(ReportBounds.LIMITS_MAX + 1, ContainerLimit.getDefaultInstance());
    var gpu = Gpu.newBuilder().setUuid("GPU-0").setReplicas(10).addAllLimits(limits);
    assertThat(violation(NodeReport.newBuilder().addGpus(gpu).build()))
        .contains("a report names 4097 containers with a memory limit; 4096 are allowed");
  }

  /** The API server is asked about them by name. */
  @Test
  void assignments_haveNamesOfKubernetes() {
    assertThat(violation(echo("ns", "web-0.a", 3))).isEmpty();
    assertThat(violation(echo("ns", "../../nodes", 3))).isPresent();
    assertThat(violation(echo("n s", "web-0", 3))).isPresent();
    assertThat(violation(echo("ns", "p".repeat(254), 3))).isPresent();
  }

  /** As an int it is negative, and would make room. */
  @Test
  void shareOfMoreReplicasThanANodeHas_isRefused() {
    assertThat(violation(echo("ns", "p", -1)))
        .contains("a report names 4294967295 replicas of one share; 10000 are allowed");
  }

  @Test
  void replicasOfMorePerGpuThanANodeHas_areRefused() {
    var holding = Holding.newBuilder().setReplicasPerGpu(1_000_003);
    assertThat(violation(NodeReport.newBuilder().addHoldings(holding).build()))
        .contains("a report names 1000003 replicas per GPU of a grant; 10000 are allowed");
    var assignment = NAMED.toBuilder().setReplicasPerGpu(-1);
    assertThat(violation(NodeReport.newBuilder().addAssignments(assignment).build()))
        .contains("a report names 4294967295 replicas per GPU of a grant; 10000 are allowed");
  }

  private static NodeReport echo(String namespace, String pod, int replicas) {
    var share = GpuShare.newBuilder().setUuid("GPU-0").setReplicas(replicas);
    var container = ContainerAssignment.newBuilder().setContainer("main").addShares(share);
    var echo = Assignment.newBuilder().setPodUid("u").setNamespace(namespace).setPod(pod);
    return NodeReport.newBuilder().addAssignments(echo.addContainers(container)).build();
  }

  /** As fast as it is read, each of 10,000 held replicas. */
  @Test
  void floodOfLargeReports_isReadAtTheRateOfItsWork() {
    NodeReport large = report(1, 10_000, 0);
    int read = 0;
    for (; nowMs < 60_000; read++) {
      work.take(ReportBounds.of(large).units());
      nowMs += 1 + work.debtMs();
    }
    // Two at once, and then half a one in each second.
    assertThat(read).isBetween(28, 34);
  }

  @Test
  void nodeOf16Gpus_reportsEachSecond_withoutAWait() {
    var gpu = Gpu.newBuilder().addAllPodUses(Collections.nCopies(10, PodUse.getDefaultInstance()));
    NodeReport report =
        NodeReport.newBuilder().addAllGpus(Collections.nCopies(16, gpu.build())).build();
    for (; nowMs < 600_000; nowMs += 1_000) {
      work.take(ReportBounds.of(report).units());
      assertThat(work.debtMs()).isZero();
    }
  }

  private static Optional<String> violation(NodeReport report) {
    return ReportBounds.of(report).violation();
  }
}
