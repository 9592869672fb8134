package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.gpu.Model;
import java.util.LinkedHashMap;
import java.util.List;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Beside the GPU Operator: its ConfigMap, its environment, one T4 per node. */
@Tag("slice3")
@Order(1_120)
class WalkthroughCE2E {
  private static final String FIRST = "first";
  private static final String SECOND = "second";

  @Test
  void page_worksAsItStands() {
    var nodes = new LinkedHashMap<String, List<Model>>();
    nodes.put(FIRST, List.of(Model.T4));
    nodes.put(SECOND, List.of(Model.T4));
    try (var reader = Walkthrough.start("c-gpu-operator.md", nodes, node -> node)) {
      reader.terminal().set("NODE", SECOND);
      reader.type("The ConfigMap");
      reader.type("Install");
      nodes.keySet().forEach(node -> reader.awaitAllocatable(node, 4));
      nodes.keySet().forEach(node -> reader.awaitLabel(node, "nvidia.com/gpu.replicas", "4"));
      assertThat(Walkthrough.rows(reader.type("Look at the nodes")))
          .containsExactlyInAnyOrder(List.of(FIRST, "4", "4"), List.of(SECOND, "4", "4"));

      reader.type("Two pods with affinity");
      var pods = reader.pods("default", "app", "gpu-test");
      assertThat(pods).hasSize(2);
      assertThat(pods.stream().map(pod -> pod.getSpec().getNodeName()).distinct()).hasSize(1);
      assertThat(pods).allSatisfy(pod -> assertThat(reader.injected(pod)).hasSize(1));

      reader.type("Change the config while pods run");
      nodes.keySet().forEach(node -> reader.awaitAllocatable(node, 6));
      reader.type("One node with another config");
      reader.awaitAllocatable(SECOND, 1);
      assertThat(reader.allocatable(FIRST, "nvidia.com/gpu")).isEqualTo(6);
    }
  }
}
