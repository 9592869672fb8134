package dev.tranche.extender.explain;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuLoad;
import dev.tranche.api.node.Health;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.PodUse;
import dev.tranche.extender.placement.Outcome;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.stream.ReportReader;
import dev.tranche.extender.verb.FakeWorld;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A GPU that its node has cordoned, as after overuse. */
class CordonTest {
  private final FakeWorld world = new FakeWorld(Policy.LOAD);

  private void report(String cordonReason) {
    var use = PodUse.newBuilder().setNamespace("ns").setPod("greedy").setMemoryUsedBytes(300);
    var gpu =
        Gpu.newBuilder()
            .setUuid("GPU-a")
            .setResource("nvidia.com/gpu")
            .setReplicas(10)
            .setShared(true)
            .setHealth(Health.HEALTH_HEALTHY)
            .setCordonReason(cordonReason)
            .setLoad(GpuLoad.newBuilder().setMemoryUsedBytes(500))
            .addPodUses(use.clone().setContainer("a"))
            .addPodUses(use.clone().setContainer("b").setMemoryUsedBytes(100));
    var report = NodeReport.newBuilder().setRegistered(true).addGpus(gpu).build();
    var reading = ReportReader.read("node-1", report, world.nowMs, null);
    world.state.reported(reading.report(), reading.readings());
  }

  @Test
  void gpuCordonedByItsNode_isRefused_andNoOtherTenantsPodIsNamed() {
    report("pod ns/greedy uses more than its share");
    var evaluation = world.evaluator.evaluate(FakeWorld.pod("p", 3), "node-1");
    assertThat(evaluation.outcome()).isEqualTo(new Outcome.DoesNotFit(Reason.UNFIT));
    assertThat(FitErrorText.node(evaluation))
        .contains("cordoned: more memory than granted is used there")
        .doesNotContain("greedy");
    assertThat(FitErrorText.largestFreeOnOneGpu(evaluation)).isZero();
    report("");
    NodeFit free = world.evaluator.evaluate(FakeWorld.pod("p", 3), "node-1");
    assertThat(free.placement()).isPresent();
    assertThat(FitErrorText.largestFreeOnOneGpu(free)).isEqualTo(10);
  }

  @Test
  void usesOfAPodsContainers_areOne() {
    report("");
    assertThat(world.loads.get("node-1", "GPU-a").orElseThrow().memoryUsedBytesByPod())
        .isEqualTo(Map.of("ns/greedy", 400L));
  }
}
