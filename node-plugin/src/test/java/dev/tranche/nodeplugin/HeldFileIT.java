package dev.tranche.nodeplugin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.gpu.HeldReplica;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HeldFileIT {
  @TempDir Path folder;

  @Test
  void written_isRead_andAForeignLineIsLeftOut() throws IOException {
    HeldFile file = new HeldFile(folder.resolve("state"));
    assertThat(file.read()).isEmpty();
    List<HeldReplica> held =
        List.of(
            new HeldReplica("nvidia.com/gpu", "GPU-0::3", 10),
            new HeldReplica("nvidia.com/gpu", "GPU-1", 1));
    Path written = file.write(held);
    Files.writeString(written, "nvidia.com/gpu GPU-2::0 0\nwhat\n", StandardOpenOption.APPEND);
    assertThat(file.read()).isEqualTo(held);
  }
}
