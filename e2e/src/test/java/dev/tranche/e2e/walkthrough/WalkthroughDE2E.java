package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.Await;
import java.util.LinkedHashMap;
import java.util.List;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** MPS on T4 and V100, with its label and without. */
@Order(1_080)
class WalkthroughDE2E {
  private static final String T4 = "t4";
  private static final String V100 = "v100";
  private static final String MISSING = "Label the nodes";

  @Test
  void page_worksAsItStands() {
    var nodes = new LinkedHashMap<String, List<Model>>();
    nodes.put(T4, List.of(Model.T4));
    nodes.put(V100, List.of(Model.V100));
    try (var reader =
        Walkthrough.start("d-mps.md", nodes, node -> node.label("serverType", "gpu"))) {
      reader.type("Install");
      nodes.keySet().forEach(node -> reader.awaitAllocatable(node, 1));
      Await.until(
          "a sentence on each node",
          60,
          () -> reader.type("The label is missing").lines().count() > nodes.size());
      assertThat(reader.type("The label is missing").lines().skip(1))
          .allSatisfy(
              line -> assertThat(line).contains("kubectl label node").contains("mps.capable=true"));

      reader.type(MISSING);
      nodes.keySet().forEach(node -> reader.awaitAllocatable(node, 10));
      reader.type("Many pods");
      assertThat(reader.pods("default", "app", "many")).hasSize(6);
      for (var pod : reader.pods("default", "app", "many")) {
        String environment = reader.environment(pod);
        assertThat(environment)
            .contains("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=10")
            .contains("CUDA_MPS_PIPE_DIRECTORY=")
            .contains("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=");
      }
    }
  }
}
