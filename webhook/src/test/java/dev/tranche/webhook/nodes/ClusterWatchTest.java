package dev.tranche.webhook.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.meters.Failures;
import dev.tranche.webhook.metrics.WebhookMetrics;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ClusterWatchTest {
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final Failures failures =
      new Failures(new WebhookMetrics(registry), "Help", Failures.NODE);

  private static SlimNode named(String name, SlimNode node) {
    var metadata = new ObjectMeta();
    metadata.setName(name);
    metadata.setLabels(Map.of("nvidia.com/gpu.replicas", "10"));
    node.setMetadata(metadata);
    return node;
  }

  @Test
  void nodeThatCannotBeRead_isLeftOut_andAllOthersCount() {
    var broken =
        new SlimNode() {
          @Override
          public Status getStatus() {
            throw new IllegalStateException("a defect");
          }
        };
    List<GpuNode> nodes =
        ClusterWatch.read(
                List.of(named("a", broken), named("b", new SlimNode())),
                List.of("nvidia.com/gpu"),
                failures)
            .served();
    assertThat(nodes).extracting(GpuNode::name).containsExactly("b");
    assertThat(registry.get("tranche.webhook.failures").tag("part", "node").counter().count())
        .isEqualTo(1);
  }
}
