package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.tranche.api.node.ContainerLimit;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuLoad;
import dev.tranche.api.node.GpuReading;
import dev.tranche.api.node.Limited;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.PodUse;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.load.GpuActivity;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.load.Readings;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class ReportReaderTest {
  private static LoadReading read(double meanPercent, double... percentsOfOnePod) {
    var load =
        GpuLoad.newBuilder()
            .setSmUtilizationPercent(100)
            .setSmUtilizationMeanPercent((float) meanPercent);
    var gpu = Gpu.newBuilder().setUuid("GPU-0").setLoad(load);
    for (double percent : percentsOfOnePod) {
      gpu.addPodUses(
          PodUse.newBuilder()
              .setNamespace("ns")
              .setPod("p")
              .setSmUtilizationPercent((float) percent));
    }
    var report = NodeReport.newBuilder().addGpus(gpu).build();
    return Objects.requireNonNull(
        ReportReader.read("node", report, 0, null).readings().get("GPU-0"));
  }

  @Test
  void useOfAPod_isThatOfItsContainers_upToAWholeGpu() {
    assertThat(read(50, 25, 50).smByPod())
        .isEqualTo(Map.of("ns/p", 0.75, LoadReading.OTHERS, 0.25));
    assertThat(read(50, 80, 70).smByPod()).isEqualTo(Map.of("ns/p", 1.0, LoadReading.OTHERS, 0.0));
  }

  private static ContainerLimit limit(String pod, String container, Limited limited) {
    return ContainerLimit.newBuilder()
        .setNamespace("ns")
        .setPod(pod)
        .setContainer(container)
        .setLimited(limited)
        .build();
  }

  @Test
  void containerThatIsLimitedLeast_countsForItsPod() {
    var gpu =
        Gpu.newBuilder()
            .setUuid("GPU-0")
            .addLimits(limit("p", "a", Limited.LIMITED_YES))
            .addLimits(limit("p", "b", Limited.LIMITED_PARTLY))
            .addLimits(limit("q", "a", Limited.LIMITED_NO))
            .addLimits(limit("q", "b", Limited.LIMITED_YES))
            .addLimits(limit("r", "a", Limited.LIMITED_YES))
            .addLimits(limit("o", "a", Limited.LIMITED_OPTED_OUT))
            .addLimits(limit("o", "b", Limited.LIMITED_YES))
            .addLimits(limit("s", "a", Limited.LIMITED_UNSPECIFIED));
    var report = NodeReport.newBuilder().addGpus(gpu).build();
    GpuFacts facts = ReportReader.read("node", report, 0, null).report().state().gpus().getFirst();
    assertThat(facts.limited())
        .isEqualTo(
            Map.of(
                "ns/p", dev.tranche.extender.ledger.Limited.PARTLY,
                "ns/q", dev.tranche.extender.ledger.Limited.NO,
                "ns/o", dev.tranche.extender.ledger.Limited.OPTED_OUT,
                "ns/r", dev.tranche.extender.ledger.Limited.YES));
  }

  @Test
  void lastUtilization_isKeptBesideItsMean() {
    assertThat(read(40).sm()).isEqualTo(1);
    assertThat(read(40).smMean()).isCloseTo(0.4, within(1e-6));
  }

  @Test
  void memoryThatNvmlDoesNotTell_isUnknown() {
    var load = GpuLoad.newBuilder().setMemoryUnknown(true);
    var known = PodUse.newBuilder().setNamespace("ns").setPod("known").setMemoryUsedBytes(5);
    var gpu =
        Gpu.newBuilder()
            .setUuid("GPU-0")
            .setLoad(load)
            .addPodUses(known)
            .addPodUses(known.clone().setPod("unknown"))
            .addPodUses(known.clone().setPod("unknown").setMemoryUnknown(true));
    var report = NodeReport.newBuilder().addGpus(gpu).build();
    LoadReading reading =
        Objects.requireNonNull(ReportReader.read("node", report, 0, null).readings().get("GPU-0"));
    assertThat(reading.memoryKnown()).isFalse();
    assertThat(reading.memoryBytesOf("ns/known")).isEqualTo(5);
    assertThat(reading.memoryBytesOf("ns/unknown")).isNull();
    assertThat(reading.memoryBytesOf("ns/other")).isNull();
  }

  private static @Nullable GpuActivity activity(GpuLoad.Builder load) {
    var gpu = Gpu.newBuilder().setUuid("GPU-0").setLoad(load);
    var report = NodeReport.newBuilder().addGpus(gpu).build();
    return Objects.requireNonNull(
            ReportReader.read("node", report, 0, null).readings().get("GPU-0"))
        .activity();
  }

  @Test
  void activity_isKnownAsFarAsItIsReported() {
    assertThat(activity(GpuLoad.newBuilder().setSmUtilizationPercent(50))).isNull();
    assertThat(
            activity(
                GpuLoad.newBuilder()
                    .setSmActivePercent(50)
                    .setSmOccupancyPercent(25)
                    .setTensorActivePercent(0)
                    .setDramActivePercent(75)))
        .isEqualTo(new GpuActivity(0.5f, 0.25f, 0, 0.75f));
    assertThat(activity(GpuLoad.newBuilder().setSmActivePercent(0).setDramActivePercent(Float.NaN)))
        .isEqualTo(new GpuActivity(0, Float.NaN, Float.NaN, Float.NaN));
  }

  @Test
  void whatIsNoNumber_isNothing() {
    LoadReading reading = read(Float.NaN, Float.NaN, 50);
    assertThat(reading.smMean()).isZero();
    assertThat(reading.smByPod()).containsEntry("ns/p", 0.5);
  }

  /** Else what is named in it would be kept for as long as the sender likes. */
  @Test
  void readingsAge_isBounded_whateverTheSenderSays() {
    for (long sampledAtMs : new long[] {0, Long.MIN_VALUE, -1}) {
      var load = GpuLoad.newBuilder().setSampledAtMs(sampledAtMs);
      var report =
          NodeReport.newBuilder()
              .setSentAtMs(Long.MAX_VALUE)
              .addGpus(Gpu.newBuilder().setUuid("GPU-0").setLoad(load))
              .build();
      var readings = ReportReader.read("node", report, 1_000_000, null).readings();
      assertThat(Objects.requireNonNull(readings.get("GPU-0")).sampledAtMs()).isEqualTo(400_000);
    }
  }

  /** Unsigned on the wire: as ints they are negative, and would make room. */
  @Test
  void numbersBeyondAllBounds_makeNoRoom() {
    var load = GpuLoad.newBuilder().setMemoryUsedBytes(-1).setProcesses(-1);
    var gpu =
        Gpu.newBuilder()
            .setUuid("GPU-0")
            .setReplicas(1)
            .setWithheldReplicas(-1)
            .setMemoryTotalBytes(16L << 30)
            .setMemoryReservedBytes(-1)
            .setMaxClients(-1)
            .setLoad(load);
    var reading = ReportReader.read("node", NodeReport.newBuilder().addGpus(gpu).build(), 0, null);
    var facts = reading.report().state().gpus().getFirst();
    assertThat(facts.withheldReplicas()).isEqualTo(1);
    assertThat(facts.memoryUsableBytes()).isZero();
    assertThat(facts.clientsMax()).isPositive();
    var used = Objects.requireNonNull(reading.readings().get("GPU-0"));
    assertThat(used.memoryUsedBytes()).isGreaterThan(16L << 30);
    assertThat(used.processes()).isPositive();
  }

  @Test
  void briefReport_isReadByTheGpusOfTheWholeOne() {
    var whole =
        NodeReport.newBuilder()
            .addGpus(Gpu.newBuilder().setUuid("GPU-0"))
            .addGpus(Gpu.newBuilder().setUuid("GPU-1"))
            .build();
    var load = GpuLoad.newBuilder().setSampledAtMs(900).setMemoryUsedBytes(7);
    var brief =
        NodeReport.newBuilder()
            .setSentAtMs(1_000)
            .addReadings(GpuReading.getDefaultInstance())
            .addReadings(GpuReading.newBuilder().setLoad(load))
            .build();
    var before = ReportReader.read("node", whole, 0, null).report().state();
    assertThat(ReportReader.brief(brief, 5_000, before))
        .isEqualTo(Map.of("GPU-1", Readings.of(7, 0, 0, 4_900)));
  }
}
