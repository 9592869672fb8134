package dev.tranche.extender.watch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.NodeFacts;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class NodeReaderTest {
  @Test
  void cordonedGpus_areReadByUuid() {
    var node = new NodeBuilder().withNewMetadata().withName("a").endMetadata().build();
    assertThat(read(node).cordoned()).isEmpty();
    node.getMetadata().getAnnotations().put(Names.CORDON_GPUS, " GPU-1, GPU-2 ,,");
    assertThat(read(node).cordoned()).isEqualTo(Set.of("GPU-1", "GPU-2"));
  }

  @Test
  void configAndResources_areRead() {
    var node =
        new NodeBuilder()
            .withNewMetadata()
            .withName("a")
            .addToLabels(Names.LABEL_CONFIG, "shared")
            .endMetadata()
            .withNewStatus()
            .addToAllocatable(Names.RESOURCE, new Quantity("20"))
            .endStatus()
            .build();
    assertThat(read(node)).isEqualTo(new NodeFacts("a", Set.of(), "shared", true));
    node.getStatus().getAllocatable().put(Names.RESOURCE, new Quantity("0"));
    assertThat(read(node).advertises()).isFalse();
  }

  private static NodeFacts read(Node node) {
    return Kinds.read(NodeReader.kind(List.of(Names.RESOURCE)), node).facts();
  }
}
