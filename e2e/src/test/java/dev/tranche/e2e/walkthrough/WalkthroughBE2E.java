package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.gpu.Model;
import java.util.LinkedHashMap;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A ConfigMap with a named entry, nodes chosen by label. */
class WalkthroughBE2E {
  private static final String LABELLED = "labelled";
  private static final String OTHER = "other";

  @Test
  void page_worksAsItStands() {
    var nodes = new LinkedHashMap<String, List<Model>>();
    nodes.put(OTHER, List.of(Model.A10G));
    nodes.put(LABELLED, List.of(Model.A10G));
    try (var reader = Walkthrough.start("b-label-and-karpenter.md", nodes, node -> node)) {
      reader.terminal().set("NODE", LABELLED);
      reader.type("Choose the nodes");
      reader.type("Install");
      assertThat(reader.pods("kube-system", "app.kubernetes.io/component", "node-plugin"))
          .singleElement()
          .satisfies(pod -> assertThat(pod.getSpec().getNodeName()).isEqualTo(LABELLED));

      reader.type("Share by a ConfigMap");
      reader.awaitAllocatable(LABELLED, 10);
      assertThat(reader.allocatable(OTHER, "nvidia.com/gpu")).isZero();

      reader.type("Five pods on one GPU");
      assertThat(reader.pods("default", "app", "five"))
          .hasSize(5)
          .allSatisfy(
              pod -> {
                assertThat(pod.getSpec().getNodeName()).isEqualTo(LABELLED);
                assertThat(reader.injected(pod)).containsExactly(reader.gpus(LABELLED).uuid(0));
              });
    }
  }
}
