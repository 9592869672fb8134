package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuReading;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.ledger.NodeState;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class InboxTest {
  private final ArrayDeque<Runnable> loop = new ArrayDeque<>();
  private final List<NodeState> states = new ArrayList<>();
  private final List<String> told = new ArrayList<>();
  private final Inbox inbox =
      new Inbox(
          "a",
          () -> 0,
          (report, readings) -> {
            states.add(report.state());
            readings.forEach((uuid, r) -> told.add(uuid + " uses " + r.memoryUsedBytes()));
          },
          new ReportListener() {
            @Override
            public void reported(String node, NodeReport whole) {
              told.add("whole");
            }

            @Override
            public void reportedAgain(String node) {
              told.add("again");
            }
          },
          loop::add);

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
    inbox.put(whole("GPU-0", 1));
    deliver();
    inbox.put(brief(2));
    deliver();
    assertThat(told).containsExactly("GPU-0 uses 1", "whole", "GPU-0 uses 2", "again");
    assertThat(states.get(1)).isSameAs(states.get(0));
  }

  @Test
  void briefReport_doesNotTakeThePlaceOfTheWholeOneThatItGoesBy() {
    inbox.put(whole("GPU-0", 1));
    deliver();
    told.clear();
    inbox.put(whole("GPU-1", 2));
    inbox.put(brief(3));
    inbox.put(brief(4));
    deliver();
    assertThat(told).containsExactly("GPU-1 uses 2", "whole", "GPU-1 uses 4", "again");
  }

  @Test
  void wholeReport_takesThePlaceOfAllBeforeIt() {
    inbox.put(whole("GPU-0", 1));
    inbox.put(brief(2));
    inbox.put(whole("GPU-1", 3));
    deliver();
    assertThat(told).containsExactly("GPU-1 uses 3", "whole");
  }
}
