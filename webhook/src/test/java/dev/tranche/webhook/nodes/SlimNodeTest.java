package dev.tranche.webhook.nodes;

import static org.assertj.core.api.Assertions.assertThat;

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
                 "status":{"capacity":{"cpu":"8","nvidia.com/gpu":"20"},"images":[{"sizeBytes":1}]}}
                """,
                SlimNode.class);
    assertThat(node.getMetadata().getLabels()).containsEntry("a", "b");
    assertThat(node.getMetadata().getAnnotations()).isEmpty();
    assertThat(node.getStatus().capacity()).containsEntry("nvidia.com/gpu", "20");
  }

  @Test
  void nodeWithoutStatus_isRead() {
    SlimNode node =
        ClusterWatch.serialization()
            .unmarshal(
                "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"},\"status\":{}}",
                SlimNode.class);
    assertThat(node.getStatus().capacity()).isEmpty();
  }
}
