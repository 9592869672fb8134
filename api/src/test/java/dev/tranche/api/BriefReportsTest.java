package dev.tranche.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuLoad;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.PodUse;
import org.junit.jupiter.api.Test;

final class BriefReportsTest {
  private final BriefReports reports = new BriefReports();
  private long sequence;

  private NodeReport.Builder at(long ms, int smPercent) {
    var load = GpuLoad.newBuilder().setSampledAtMs(ms).setSmUtilizationPercent(smPercent);
    return NodeReport.newBuilder()
        .setSequence(++sequence)
        .setSentAtMs(ms)
        .setAppliedDirective(sequence)
        .setHoldingsAgeMs((int) ms)
        .setNode("node-1")
        .addHoldings(Holding.newBuilder().addDeviceIds("GPU-0::0"))
        .addAssignments(Assignment.newBuilder().setPodUid("u").setExpiresInMs(9_000 - (int) ms))
        .addGpus(
            Gpu.newBuilder()
                .setUuid("GPU-0")
                .setLoad(load)
                .addPodUses(PodUse.newBuilder().setPod("p").setSmUtilizationPercent(smPercent)))
        .addGpus(Gpu.newBuilder().setUuid("GPU-1"));
  }

  private static boolean brief(NodeReport sent) {
    assertThat(sent.getGpusCount() == 0).isEqualTo(sent.getReadingsCount() > 0);
    return sent.getReadingsCount() > 0;
  }

  @Test
  void briefReport_bringsWhatIsMeasuredInTheOrderOfTheGpus() {
    reports.of(at(0, 1).build());
    NodeReport whole = at(1, 70).build();
    NodeReport sent = reports.of(whole);
    assertThat(sent.getReadingsList()).hasSize(2);
    assertThat(sent.getReadings(0).getLoad()).isEqualTo(whole.getGpus(0).getLoad());
    assertThat(sent.getReadings(0).getPodUsesList()).isEqualTo(whole.getGpus(0).getPodUsesList());
    assertThat(sent.getReadings(1).hasLoad()).isFalse();
    assertThat(sent.toBuilder().clearReadings().build())
        .isEqualTo(
            NodeReport.newBuilder()
                .setSequence(2)
                .setSentAtMs(1)
                .setAppliedDirective(2)
                .setHoldingsAgeMs(1)
                .build());
  }

  @Test
  void whateverElseChanges_isToldInAWholeReport() {
    reports.of(at(0, 1).build());
    var held = at(1, 1).addHoldings(Holding.newBuilder().addDeviceIds("GPU-0::1"));
    assertThat(reports.of(held.build())).isEqualTo(held.build());
    assertThat(brief(reports.of(held.setSentAtMs(2).build()))).isTrue();
    held.getGpusBuilder(1).setCordonReason("overuse");
    assertThat(brief(reports.of(held.setSentAtMs(3).build()))).isFalse();
    assertThat(brief(reports.of(held.setSentAtMs(4).setDraining(true).build()))).isFalse();
  }

  @Test
  void nowAndThen_andWhenTheClockWasSetBack_aReportIsWhole() {
    reports.of(at(0, 1).build());
    assertThat(brief(reports.of(at(BriefReports.WHOLE_EVERY_MS - 1, 1).build()))).isTrue();
    assertThat(brief(reports.of(at(BriefReports.WHOLE_EVERY_MS, 1).build()))).isFalse();
    assertThat(brief(reports.of(at(1, 1).build()))).isFalse();
  }

  @Test
  void nodeWithoutGpus_saysSoEachTime() {
    NodeReport none = NodeReport.newBuilder().setNode("node-1").build();
    assertThat(reports.of(none)).isEqualTo(none);
    assertThat(reports.of(none)).isEqualTo(none);
  }

  @Test
  void gpusThatAreBack_areToldWhole() {
    reports.of(at(0, 1).build());
    reports.of(at(1, 1).clearGpus().build());
    assertThat(brief(reports.of(at(2, 1).build()))).isFalse();
    assertThat(brief(reports.of(at(3, 1).build()))).isTrue();
  }
}
