package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.Await;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** Time-slicing on EKS with Helm and a config file. */
@Order(1_060)
class WalkthroughAE2E {
  private static final String NODE = "one";

  @Test
  void page_worksAsItStands() {
    try (var reader =
        Walkthrough.start(
            "a-eks-time-slicing.md", Map.of(NODE, List.of(Model.A10G)), node -> node)) {
      reader.type("The config");
      reader.type("Install");
      reader.awaitAllocatable(NODE, 10);

      assertThat(reader.type("Look at the node").lines().map(line -> line.trim().split("\\s+")))
          .as("Capacity and Allocatable")
          .containsExactly(
              new String[] {"nvidia.com/gpu:", "10"}, new String[] {"nvidia.com/gpu:", "10"});

      reader.type("Test the installation");
      reader.type("Run a pod");
      var pod = reader.pods("default", "app", "gpu-pod").getFirst();
      assertThat(reader.injected(pod)).containsExactly(reader.gpus(NODE).uuid(0));

      assertThat(reader.type("Request a fraction")).contains("\"nvidia.com/gpu\":\"3\"");

      reader.type("Remove it");
      Await.until(
          "the GPUs to be withdrawn", 60, () -> reader.allocatable(NODE, "nvidia.com/gpu") == 0);
      reader.nothingIsLeft(NODE);
    }
  }
}
