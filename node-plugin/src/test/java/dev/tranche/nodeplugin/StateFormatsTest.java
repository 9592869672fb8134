package dev.tranche.nodeplugin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.GpuShare;
import dev.tranche.api.node.MemoryLimit;
import dev.tranche.nodeplugin.config.ConfigSource;
import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.nodeplugin.config.Setting;
import dev.tranche.nodeplugin.gpu.HeldFile;
import dev.tranche.nodeplugin.gpu.HeldReplica;
import dev.tranche.nodeplugin.kubelet.AssignmentFile;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What version 0.1.0 leaves on a node's disk is read after an upgrade. The files are frozen: a
 * later format gets a folder of its own, beside this one.
 */
class StateFormatsTest {
  private static final Path FROZEN = Path.of("src/test/resources/formats/0.1.0");
  private static final long KEPT_AT_MS = 1_000_000;

  private static byte[] frozen(String name) throws IOException {
    return Files.readAllBytes(FROZEN.resolve(name));
  }

  @Test
  void assignments_areReadWithTheirRemainingTime() throws IOException {
    byte[] kept = Base64.getMimeDecoder().decode(frozen(AssignmentFile.NAME + ".base64"));
    assertThat(AssignmentFile.parse(kept, KEPT_AT_MS + 10_000))
        .containsExactly(
            Assignment.newBuilder()
                .setPodUid("uid-1")
                .setNamespace("team-a")
                .setPod("chat")
                .setResource("nvidia.com/gpu")
                .setExpiresInMs(50_000)
                .setReplicasPerGpu(10)
                .addContainers(
                    ContainerAssignment.newBuilder()
                        .setContainer("main")
                        .addShares(GpuShare.newBuilder().setUuid("GPU-0").setReplicas(3))
                        .setMemoryLimit(MemoryLimit.newBuilder().setBytes(4L << 30)))
                .build());
  }

  @Test
  void heldReplicas_areRead() throws IOException {
    assertThat(HeldFile.parse(frozen(HeldFile.NAME)))
        .containsExactly(
            new HeldReplica("nvidia.com/gpu", "GPU-0::3", 10),
            new HeldReplica("nvidia.com/gpu", "GPU-1", 1));
  }

  @Test
  void configInUse_isRead(@TempDir Path configs) throws IOException {
    var source =
        new ConfigSource(
            Settings.read(
                Setting.class, List.of("--config-dir=" + configs), Map.of(), new ConfigErrors()));
    Outcome.Usable kept = source.earlier(frozen(ConfigKeeper.USED_FILE)).orElseThrow();
    assertThat(kept.name()).isEqualTo("a");
    assertThat(kept.text()).contains("replicas: 4");
  }
}
