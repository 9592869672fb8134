package dev.tranche.nodeplugin.gpu;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class HeldFileTest {
  @Test
  void written_isRead_andAForeignLineIsLeftOut() {
    assertThat(HeldFile.parse(new byte[0])).isEmpty();
    List<HeldReplica> held =
        List.of(
            new HeldReplica("nvidia.com/gpu", "GPU-0::3", 10),
            new HeldReplica("nvidia.com/gpu", "GPU-1", 1));
    String written = new String(HeldFile.content(held), UTF_8);
    assertThat(written).isEqualTo("nvidia.com/gpu GPU-0::3 10\nnvidia.com/gpu GPU-1 1\n");
    byte[] more = (written + "nvidia.com/gpu GPU-2::0 0\nwhat\n").getBytes(UTF_8);
    assertThat(HeldFile.parse(more)).isEqualTo(held);
  }
}
