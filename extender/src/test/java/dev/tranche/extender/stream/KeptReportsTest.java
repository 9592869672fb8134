package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuShare;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.PodUse;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Thousands of nodes whose reports are within the allowance of each. */
final class KeptReportsTest {
  private static final int NODES = 5_000;
  private static final long BYTES_MAX = 112L << 20;

  private static NodeReport report(String node, int pods) {
    var report = NodeReport.newBuilder().setNode(node).setHoldingsKnown(true);
    report.addGpus(Gpu.newBuilder().setUuid(node + "-0").setModel("Tesla T4"));
    for (int i = 0; i < pods; i++) {
      var holding = Holding.newBuilder().setNamespace("n").setPod(node + i).setContainer("c");
      report.addHoldings(holding.addDeviceIds(node + "-0::" + i % 10));
    }
    return report.build();
  }

  @Test
  void beyondTheTotal_theLargestGo_andSmallOnesStay() {
    var kept = new KeptReports(BYTES_MAX);
    var without = new HashSet<String>();
    NodeReport honest = report("honest", 20);
    assertThat(kept.put("honest", honest)).isEmpty();
    NodeReport hostile = report("hostile", 1_500);
    assertThat(hostile.getSerializedSize()).isBetween(32 << 10, 64 << 10);
    for (int i = 0; i < NODES; i++) {
      without.addAll(kept.put("hostile-" + i, hostile));
      assertThat(kept.bytes()).isLessThanOrEqualTo(BYTES_MAX);
    }
    assertThat(without).hasSizeGreaterThan(NODES / 2).doesNotContain("honest");
    // One that comes later, when there is no room any more.
    assertThat(kept.put("late", honest)).doesNotContain("late");
    assertThat(kept.bytes()).isLessThanOrEqualTo(BYTES_MAX);
  }

  @Test
  void nodeThatGoes_orReportsLess_leavesRoom() {
    var kept = new KeptReports(BYTES_MAX);
    kept.put("a", report("a", 1_000));
    long large = kept.bytes();
    kept.put("a", report("a", 10));
    assertThat(kept.bytes()).isPositive().isLessThan(large / 10);
    kept.remove("a");
    assertThat(kept.bytes()).isZero();
    assertThat(kept.put("b", report("b", 1_000))).isEqualTo(Set.of());
  }

  /** What is made of a report, measured: short names in great number are the worst. */
  @Test
  void estimate_isAtLeastWhatTheObjectsTake() {
    var objects = new ArrayList<Object>();
    long estimated = 0;
    long before = usedBytes();
    for (int i = 0; i < 40; i++) {
      NodeReport.Builder report = report("node-" + i, 1_000).toBuilder();
      for (int pod = 0; pod < 300; pod++) {
        report
            .getGpusBuilder(0)
            .addPodUses(PodUse.newBuilder().setNamespace("n").setPod("u" + pod + "-" + i));
        var share = GpuShare.newBuilder().setUuid("g").setReplicas(1);
        var container = ContainerAssignment.newBuilder().setContainer("c").addShares(share);
        var echo = Assignment.newBuilder().setPodUid("x" + pod + "-" + i).setNamespace("n");
        report.addAssignments(echo.setPod("p").addContainers(container));
      }
      NodeReport sent = report.build();
      estimated += KeptReports.bytes(sent);
      objects.add(ReportReader.read("node-" + i, sent, 0));
    }
    long taken = usedBytes() - before;
    assertThat(objects).hasSize(40);
    assertThat(taken).isBetween(estimated / 8, estimated);
  }

  private static long usedBytes() {
    var runtime = Runtime.getRuntime();
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 4; i++) {
      System.gc();
      least = Math.min(least, runtime.totalMemory() - runtime.freeMemory());
    }
    return least;
  }
}
