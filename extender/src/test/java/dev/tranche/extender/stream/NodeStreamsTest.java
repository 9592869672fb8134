package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.NodeDirective;
import dev.tranche.extender.ledger.Assignment;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.Placement.Container;
import dev.tranche.extender.placement.Placement.Share;
import java.util.List;
import org.junit.jupiter.api.Test;

final class NodeStreamsTest {
  private final NodeStreams streams = new NodeStreams(300, sent -> sent);

  @Test
  void config_isLeftOutUntilTheLabelsHaveBeenRead() {
    assertThat(directive().hasConfigName()).isFalse();
    streams.configure("a", "");
    assertThat(directive().hasConfigName()).isTrue();
    streams.configure("a", "shared");
    assertThat(directive().getConfigName()).isEqualTo("shared");
    streams.forget("a");
    assertThat(directive().hasConfigName()).isFalse();
  }

  /** Field 30: a plugin that does not know it skips it, and takes 0 for one that is not sent. */
  @Test
  void assignment_saysWhatItsSharesAreCountedIn() throws Exception {
    var place = Placement.of(List.of(new Container("main", List.of(new Share("GPU-a", 3)))));
    var assignment = new Assignment("u", "ns/p", "nvidia.com/gpu", place, 10);
    byte[] sent = Directives.assign(assignment).build().toByteArray();
    var read = NodeDirective.parseFrom(sent).getAssign(0);
    assertThat(read.getReplicasPerGpu()).isEqualTo(10);
    byte[] unknown = read.toBuilder().setReplicasPerGpu(0).build().toByteArray();
    assertThat(unknown).isEqualTo(read.toBuilder().clearReplicasPerGpu().build().toByteArray());
  }

  private NodeDirective directive() {
    return streams.withConfigName("a", NodeDirective.newBuilder()).build();
  }
}
