package dev.tranche.webhook.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GpuNodeStoreTest {
  private final GpuNodeStore store = new GpuNodeStore(List.of("nvidia.com/gpu"));

  private static SlimNode node(Map<String, String> labels, Map<String, String> allocatable) {
    var node = new SlimNode();
    node.setMetadata(new ObjectMetaBuilder().withName("n").withLabels(labels).build());
    node.setStatus(new SlimNode.Status(Map.of(), allocatable));
    return node;
  }

  /** A cluster may have thousands of them, and they change every few minutes. */
  @Test
  void nodeWithoutGpus_isNotKept_andChangesNothing() {
    for (var none : List.of(Map.of("cpu", "8"), Map.of("nvidia.com/gpu", "0"))) {
      assertThat(store.put("n", node(Map.of("zone", "a"), none))).isNull();
      assertThat(store.size()).isZero();
    }
    assertThat(store.changes()).isZero();
  }

  @Test
  void foreignNode_isKept_whileItOffersGpus() {
    SlimNode one = node(Map.of("type", "virtual-kubelet"), Map.of("nvidia.com/gpu", "1"));
    store.put("n", one);
    store.put("n", node(Map.of("type", "virtual-kubelet"), Map.of("nvidia.com/gpu", "1")));
    assertThat(store.changes()).isEqualTo(1);
    assertThat(store.put("n", node(Map.of(), Map.of()))).isNotNull();
    assertThat(store.size()).isZero();
    assertThat(store.changes()).isEqualTo(2);
  }

  @Test
  void labelledNode_isKept_beforeItsPluginServes() {
    store.put("n", node(Map.of("nvidia.com/gpu.replicas", "10"), Map.of()));
    assertThat(store.get("n")).isNotNull();
    store.remove("n");
    assertThat(store.changes()).isEqualTo(2);
  }
}
