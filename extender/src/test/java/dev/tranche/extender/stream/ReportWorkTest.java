package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.PodUse;
import java.util.Collections;
import org.junit.jupiter.api.Test;

final class ReportWorkTest {
  private final ReportWork work = new ReportWork(0);

  private static NodeReport holding(int replicas) {
    return NodeReport.newBuilder()
        .addHoldings(
            Holding.newBuilder().addAllDeviceIds(Collections.nCopies(replicas, "GPU-0::0")))
        .build();
  }

  /** As fast as it is read, each of 10,000 held replicas. */
  @Test
  void floodOfLargeReports_isReadAtTheRateOfItsWork() {
    NodeReport large = holding(10_000);
    int read = 0;
    for (long nowMs = 0; nowMs < 60_000; read++) {
      nowMs += 1 + work.take(large, nowMs);
    }
    // Two at once, and then half a one in each second.
    assertThat(read).isBetween(28, 34);
  }

  @Test
  void largestNode_reportsEachSecond_withoutAWait() {
    var gpu = Gpu.newBuilder().addAllPodUses(Collections.nCopies(10, PodUse.getDefaultInstance()));
    NodeReport report =
        NodeReport.newBuilder().addAllGpus(Collections.nCopies(16, gpu.build())).build();
    for (long nowMs = 0; nowMs < 600_000; nowMs += 1_000) {
      assertThat(work.take(report, nowMs)).isZero();
    }
  }

  @Test
  void workThatWasPaidOff_isForgotten() {
    work.take(holding(10_000), 0);
    assertThat(work.isRefilled(0)).isFalse();
    assertThat(work.isRefilled(10_000)).isTrue();
  }
}
