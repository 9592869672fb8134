package dev.tranche.nodeplugin.gpu;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class HeldFileTest {
  @Test
  void written_isRead_andAForeignLineIsLeftOut() {
    assertThat(HeldFile.parse(new byte[0])).isEmpty();
    List<HeldReplica> held =
        List.of(
            new HeldReplica("nvidia.com/gpu", "GPU-0::3", 10),
            new HeldReplica("nvidia.com/gpu", "GPU-1", 1),
            new HeldReplica("nvidia.com/gpu", "GPU-2", 1, "ns/p", OptionalLong.empty()),
            new HeldReplica("nvidia.com/gpu", "GPU-3", 1, "", OptionalLong.of(0)),
            new HeldReplica("nvidia.com/gpu", "GPU-4", 1, "ns/p", OptionalLong.of(5)));
    String written = new String(HeldFile.content(held), UTF_8);
    assertThat(written)
        .isEqualTo(
            """
            nvidia.com/gpu GPU-0::3 10
            nvidia.com/gpu GPU-1 1
            nvidia.com/gpu GPU-2 1 ns/p
            nvidia.com/gpu GPU-3 1 limit=0
            nvidia.com/gpu GPU-4 1 ns/p limit=5
            """);
    byte[] more = (written + "nvidia.com/gpu GPU-2::0 0\nwhat\n").getBytes(UTF_8);
    assertThat(HeldFile.parse(more)).isEqualTo(held);
  }
}
