package dev.tranche.e2e.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.gpu.NodeGpus;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SimulatedLoadTest {
  @TempDir private Path folder;

  @BeforeEach
  void twoGpus() throws IOException {
    Path library = Files.writeString(folder.resolve("libnvidia-ml.so.1"), "");
    NodeGpus.create(
        folder.resolve("node-t4/driver"), library, "node-t4", List.of(Model.T4, Model.T4));
  }

  private List<String> state() throws IOException {
    return Files.readAllLines(folder.resolve("node-t4/driver/usr/lib64/gpus.state"));
  }

  @Test
  void load_isThatOfTheNamedGpuAlone() throws IOException {
    List<String> before = state();
    SimulatedLoad.set(folder, "node-t4", "1", "95");
    assertThat(state()).hasSize(2).first().isEqualTo(before.getFirst());
    assertThat(state().get(1)).isEqualTo(before.get(1).replace("sm=0", "sm=95"));
    SimulatedLoad.set(folder, "node-t4", "1", "0");
    assertThat(state()).isEqualTo(before);
  }

  @Test
  void wrongWords_areRefusedInSentences() {
    assertThatThrownBy(() -> SimulatedLoad.set(folder, "node-9", "0", "5"))
        .hasMessage("no node \"node-9\"; there are node-t4");
    assertThatThrownBy(() -> SimulatedLoad.set(folder, "node-t4", "2", "5"))
        .hasMessage("node-t4 has no GPU \"2\"; it has 0 to 1");
    assertThatThrownBy(() -> SimulatedLoad.set(folder, "node-t4", "0", "101"))
        .hasMessage("\"101\" is no load; allowed are 0 to 100, in percent");
    assertThatThrownBy(() -> SimulatedLoad.set(folder, "node-t4", "0", "busy"))
        .hasMessage("\"busy\" is no load; allowed are 0 to 100, in percent");
  }

  @Test
  void withoutADemo_itSaysHowToStartOne() {
    assertThatThrownBy(() -> SimulatedLoad.set(folder.resolve("none"), "node-t4", "0", "5"))
        .hasMessage("no demo runs here; start it with ./demo");
  }
}
