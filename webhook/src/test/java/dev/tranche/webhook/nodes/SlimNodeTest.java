package dev.tranche.webhook.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Taint;
import org.junit.jupiter.api.Test;

class SlimNodeTest {
  @Test
  void node_isReadWithItsLabelsAndCapacity_andWithoutTheRest() {
    SlimNode node =
        ClusterWatch.serialization()
            .unmarshal(
                """
                {"apiVersion":"v1","kind":"Node",
                 "metadata":{"name":"n","labels":{"a":"b"},"annotations":{"long":"text"}},
                 "spec":{"podCIDR":"10.0.0.0/24","unschedulable":true,
                   "taints":[{"key":"team","value":"x","effect":"NoSchedule","timeAdded":"2026-01-01T00:00:00Z"}]},
                 "status":{"capacity":{"cpu":"8","nvidia.com/gpu":"20"},"images":[{"sizeBytes":1}]}}
                """,
                SlimNode.class);
    assertThat(node.getMetadata().getLabels()).containsEntry("a", "b");
    assertThat(node.getMetadata().getAnnotations()).isEmpty();
    assertThat(node.getStatus().capacity()).containsEntry("nvidia.com/gpu", "20");
    assertThat(node.getSpec().unschedulable()).isTrue();
    assertThat(node.getSpec().taints()).containsExactly(new Taint("team", "x", "NoSchedule"));
  }

  @Test
  void nodeWithoutStatus_isRead() {
    SlimNode node =
        ClusterWatch.serialization()
            .unmarshal(
                "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"},\"status\":{}}",
                SlimNode.class);
    assertThat(node.getStatus().capacity()).isEmpty();
    assertThat(node.getSpec().taints()).isEmpty();
  }
}
