package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.NodeDirective;
import org.junit.jupiter.api.Test;

final class NodeStreamsTest {
  private final NodeStreams streams = new NodeStreams(300);

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

  private NodeDirective directive() {
    return streams.named("a", NodeDirective.newBuilder()).build();
  }
}
