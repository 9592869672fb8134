package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuReading;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.ledger.NodeState;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

final class LatestReportTest {
  private final ArrayDeque<Runnable> loop = new ArrayDeque<>();
  private final List<NodeState> states = new ArrayList<>();
  private final List<OptionalLong> ages = new ArrayList<>();
  private long nowMs;
  private final List<String> told = new ArrayList<>();
  private final LatestReport latestReport =
      new LatestReport(
          "a",
          () -> nowMs,
          (report, readings) -> {
            states.add(report.state());
            ages.add(report.holdingsAgeMs());
            readings.forEach((uuid, r) -> told.add(uuid + " uses " + r.memoryUsedBytes()));
          },
          (node, report) -> told.add("whole"),
          loop::add,
          Runnable::run,
          () -> false);

  private static NodeReport whole(String uuid, long usedBytes) {
    return NodeReport.newBuilder()
        .addGpus(Gpu.newBuilder().setUuid(uuid).setLoad(FakeNode.load(0, usedBytes)))
        .build();
  }

  private static NodeReport brief(long usedBytes) {
    return NodeReport.newBuilder()
        .addReadings(GpuReading.newBuilder().setLoad(FakeNode.load(0, usedBytes)))
        .build();
  }

  private void deliver() {
    for (Runnable next = loop.poll(); next != null; next = loop.poll()) {
      next.run();
    }
  }

  @Test
  void briefReport_repeatsTheStateOfTheWholeOne() {
    latestReport.put(whole("GPU-0", 1));
    deliver();
    latestReport.put(brief(2));
    deliver();
    assertThat(told).containsExactly("GPU-0 uses 1", "whole", "GPU-0 uses 2");
    assertThat(states.get(1)).isSameAs(states.get(0));
  }

  /** Also while they wait for the loop; one that does not say is not taken to be new. */
  @Test
  void listsAge_isOfTheNewestReport_andGrowsWhileItWaits() {
    latestReport.put(whole("GPU-0", 1));
    deliver();
    latestReport.put(whole("GPU-0", 1).toBuilder().setHoldingsAgeMs(300).build());
    nowMs += 7;
    deliver();
    latestReport.put(brief(2).toBuilder().setHoldingsAgeMs(2_300).build());
    deliver();
    assertThat(ages)
        .containsExactly(OptionalLong.empty(), OptionalLong.of(307), OptionalLong.of(2_300));
  }

  @Test
  void briefReport_doesNotTakeThePlaceOfTheWholeOneThatItGoesBy() {
    latestReport.put(whole("GPU-0", 1));
    deliver();
    told.clear();
    latestReport.put(whole("GPU-1", 2));
    latestReport.put(brief(3));
    latestReport.put(brief(4));
    deliver();
    assertThat(told).containsExactly("GPU-1 uses 2", "whole", "GPU-1 uses 4");
  }

  /** The first is on its way; of those that come meanwhile, only the last counts. */
  @Test
  void wholeReport_takesThePlaceOfAllThatWait() {
    latestReport.put(whole("GPU-0", 1));
    latestReport.put(brief(2));
    latestReport.put(whole("GPU-1", 2));
    latestReport.put(whole("GPU-2", 3));
    assertThat(loop).hasSize(1);
    deliver();
    assertThat(told).containsExactly("GPU-0 uses 1", "whole", "GPU-2 uses 3", "whole");
  }
}
