package dev.tranche.webhook.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.meters.Failures;
import dev.tranche.webhook.metrics.WebhookMetrics;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ClusterWatchTest {
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final Failures failures =
      new Failures(new WebhookMetrics(registry), "Help", Failures.NODE);

  private static Node named(String name) {
    return new NodeBuilder()
        .withNewMetadata()
        .withName(name)
        .withLabels(Map.of("tranche.dev/replicas-per-gpu", "10"))
        .endMetadata()
        .withNewSpec()
        .endSpec()
        .withNewStatus()
        .endStatus()
        .build();
  }

  @Test
  void nodeThatCannotBeRead_isLeftOut_andAllOthersCount() {
    Node broken = named("a");
    broken.setStatus(null);
    List<GpuNode> nodes =
        ClusterWatch.read(List.of(broken, named("b")), List.of("nvidia.com/gpu"), failures)
            .served();
    assertThat(nodes).extracting(GpuNode::name).containsExactly("b");
    assertThat(registry.get("tranche.webhook.failures").tag("part", "node").counter().count())
        .isEqualTo(1);
  }
}
