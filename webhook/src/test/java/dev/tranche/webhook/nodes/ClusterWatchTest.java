package dev.tranche.webhook.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.meters.Failures;
import dev.tranche.webhook.metrics.WebhookMetrics;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ClusterWatchTest {
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final Failures failures =
      new Failures(new WebhookMetrics(registry), "Help", Failures.NODE);

  private static SlimNode node(String name, Map<String, String> labels) {
    var metadata = new ObjectMeta();
    metadata.setName(name);
    metadata.setLabels(labels);
    var node = new SlimNode();
    node.setMetadata(metadata);
    return node;
  }

  @Test
  @SuppressWarnings("NullAway") // It stands for any node that the code does not expect.
  void nodeThatCannotBeRead_isLeftOut_andAllOthersCount() {
    var broken = new HashMap<String, String>();
    broken.put("label", null);
    List<GpuNode> nodes =
        ClusterWatch.read(
                List.of(node("a", broken), node("b", Map.of("nvidia.com/gpu.replicas", "10"))),
                List.of("nvidia.com/gpu"),
                failures)
            .served();
    assertThat(nodes).extracting(GpuNode::name).containsExactly("b");
    assertThat(registry.get("tranche.webhook.failures").tag("part", "node").counter().count())
        .isEqualTo(1);
  }
}
