package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.gpu.Model;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** A bare cluster: plain YAML, whole GPUs, nine in one machine, and the leak. */
@Order(1_060)
class WalkthroughEE2E {
  private static final String NODE = "nine";

  @Test
  void page_worksAsItStands() {
    var gpus = Collections.nCopies(9, Model.GTX_1080_TI);
    try (var reader = Walkthrough.start("e-bare-cluster.md", Map.of(NODE, gpus), node -> node)) {
      reader.terminal().set("NODE", NODE);
      reader.type("Mark the nodes");
      reader.type("Install");
      reader.awaitAllocatable(NODE, 9);
      assertThat(Walkthrough.rows(reader.type("Look at the nodes")))
          .containsExactly(List.of(NODE, "9"));

      reader.type("Two pods of two GPUs");
      var all = new HashSet<String>();
      for (Pod pod : reader.pods("default", "app", "two-gpus")) {
        assertThat(reader.injected(pod)).hasSize(2);
        all.addAll(reader.injected(pod));
      }
      assertThat(all).hasSize(4);

      reader.type("The leak");
      assertThat(reader.injected(reader.pods("default", "app", "leak").getFirst())).hasSize(9);
      reader.type("Close the leak");
      assertThat(reader.injected(reader.pods("default", "app", "closed").getFirst())).isEmpty();
      assertThat(reader.type("Find the pod")).contains("closed").contains("NVIDIA_VISIBLE_DEVICES");
      reader.type("Exempt a namespace");
      assertThat(reader.injected(reader.pods("monitoring", "app", "exempt").getFirst())).hasSize(9);
    }
  }
}
