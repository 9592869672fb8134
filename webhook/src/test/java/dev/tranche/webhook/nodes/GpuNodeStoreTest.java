package dev.tranche.webhook.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.GrantedGpus;
import dev.tranche.api.Taint;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GpuNodeStoreTest {
  private final GpuNodeStore store = new GpuNodeStore(List.of("nvidia.com/gpu"));

  private static Node node(Map<String, String> labels, Map<String, String> allocatable) {
    var quantities = new HashMap<String, Quantity>();
    allocatable.forEach((name, count) -> quantities.put(name, new Quantity(count)));
    return new NodeBuilder()
        .withNewMetadata()
        .withName("n")
        .withLabels(labels)
        .endMetadata()
        .withNewStatus()
        .withAllocatable(quantities)
        .endStatus()
        .build();
  }

  @Test
  void node_isKeptWithoutWhatNobodyReads() {
    Node full =
        ClusterWatch.serialization()
            .unmarshal(
                """
                {"apiVersion":"v1","kind":"Node",
                 "metadata":{"name":"n","labels":{"tranche.dev/replicas-per-gpu":"10"},"annotations":{"long":"text",
                   "tranche.dev/gpu-use":"0.5 of 2 GPUs granted, 24 GiB memory, as of 2026-11-23T20:14:31Z"}},
                 "spec":{"podCIDR":"10.0.0.0/24","unschedulable":true,
                   "taints":[{"key":"team","value":"x","effect":"NoSchedule","timeAdded":"2026-01-01T00:00:00Z"}]},
                 "status":{"capacity":{"cpu":"8","nvidia.com/gpu":"20"},"images":[{"sizeBytes":1}]}}
                """,
                Node.class);
    store.put("n", full);
    Node kept = store.get("n");
    assertThat(kept.getMetadata().getAnnotations()).isNullOrEmpty();
    assertThat(kept.getStatus().getCapacity())
        .isEqualTo(Map.of("nvidia.com/gpu", new Quantity("20")));
    assertThat(kept.getStatus().getImages()).isEmpty();
    assertThat(store.granted("n").map(GrantedGpus.Written::granted))
        .contains(new GrantedGpus(5, 2, 0, 0));
    assertThat(Taints.of(kept.getSpec()).list())
        .containsExactly(new Taint("team", "x", "NoSchedule"), Taint.UNSCHEDULABLE);
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
    Node one = node(Map.of("type", "virtual-kubelet"), Map.of("nvidia.com/gpu", "1"));
    store.put("n", one);
    store.put("n", node(Map.of("type", "virtual-kubelet"), Map.of("nvidia.com/gpu", "1")));
    assertThat(store.changes()).isEqualTo(1);
    assertThat(store.put("n", node(Map.of(), Map.of()))).isNotNull();
    assertThat(store.size()).isZero();
    assertThat(store.changes()).isEqualTo(2);
  }

  @Test
  void labelledNode_isKept_beforeItsPluginServes() {
    store.put("n", node(Map.of("tranche.dev/replicas-per-gpu", "10"), Map.of()));
    assertThat(store.get("n")).isNotNull();
    store.remove("n");
    assertThat(store.changes()).isEqualTo(2);
  }
}
