package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeReport;
import java.util.Collections;
import org.junit.jupiter.api.Test;

final class BoundsTest {
  private static NodeReport report(int gpus, int held, int echoes) {
    return NodeReport.newBuilder()
        .addAllGpus(Collections.nCopies(gpus, Gpu.getDefaultInstance()))
        .addHoldings(
            Holding.newBuilder().addAllDeviceIds(Collections.nCopies(held, "GPU-0::0")).build())
        .addAllAssignments(Collections.nCopies(echoes, Assignment.getDefaultInstance()))
        .build();
  }

  @Test
  void largestNode_isWithinThem() {
    assertThat(Bounds.broken(report(Bounds.GPUS_MAX, Bounds.HELD_MAX, Bounds.ECHOES_MAX)))
        .isEmpty();
  }

  @Test
  void whatIsTooMuch_isNamed_withWhatIsAllowed() {
    assertThat(Bounds.broken(report(400_000, 1, 0)))
        .contains("a report names 400000 GPUs; 1024 are allowed");
    assertThat(Bounds.broken(report(1, Bounds.HELD_MAX + 1, 0)))
        .contains("a report names 10001 held replicas; 10000 are allowed");
    assertThat(Bounds.broken(report(1, 1, Bounds.ECHOES_MAX + 1)))
        .contains("a report names 10001 assignments; 10000 are allowed");
  }

  @Test
  void holdingsWithoutReplicas_countToo() {
    var empty = Collections.nCopies(Bounds.HELD_MAX + 1, Holding.getDefaultInstance());
    assertThat(Bounds.broken(NodeReport.newBuilder().addAllHoldings(empty).build())).isPresent();
  }
}
