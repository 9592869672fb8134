package dev.tranche.webhook.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.GrantedGpus;
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
                 "metadata":{"name":"n","labels":{"a":"b"},"annotations":{"long":"text",
                   "tranche.dev/gpu-use":"0.5 of 2 GPUs granted, 24 GiB memory, as of 2026-11-23T20:14:31Z"}},
                 "spec":{"podCIDR":"10.0.0.0/24","unschedulable":true,
                   "taints":[{"key":"team","value":"x","effect":"NoSchedule","timeAdded":"2026-01-01T00:00:00Z"}]},
                 "status":{"capacity":{"cpu":"8","nvidia.com/gpu":"20"},"images":[{"sizeBytes":1}]}}
                """,
                SlimNode.class);
    assertThat(node.getMetadata().getLabels()).containsEntry("a", "b");
    assertThat(node.getMetadata().getAnnotations()).isNullOrEmpty();
    assertThat(node.granted().map(GrantedGpus.Written::granted))
        .contains(new GrantedGpus(5, 2, 0, 0));
    assertThat(node.getStatus().capacity()).containsEntry("nvidia.com/gpu", "20");
    assertThat(node.getSpec().unschedulable()).isTrue();
    assertThat(node.getSpec().taints()).containsExactly(new Taint("team", "x", "NoSchedule"));
  }

  /** Whoever may write a node could otherwise fill the memory. */
  @Test
  void longAnnotation_isNotKept() {
    SlimNode node =
        ClusterWatch.serialization()
            .unmarshal(
                "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\",\"annotations\":{\"tranche.dev/gpu-use\":\"%s\"}}}"
                    .formatted("x".repeat(257)),
                SlimNode.class);
    assertThat(node.getMetadata().getAnnotations()).isNullOrEmpty();
    assertThat(node.granted()).isEmpty();
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
