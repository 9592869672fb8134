package dev.tranche.e2e.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.gpu.NodeGpus;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * NVIDIA's container runtime and hook, unchanged, with runc on a node of a test cluster. The driver
 * is simulated, and no kubelet takes part.
 */
@Tag("slow")
class NvidiaRuntimeIT {
  private static final String VERSION = "615.71.09";
  private static final String SHARE = "NVIDIA_GPU_MEMORY_LIMIT=3727";

  @TempDir Path folder;
  private Path driver;
  private Path toolkit;
  private NodeGpus gpus;

  private record Run(int status, String output) {}

  private static Run run(List<String> command) throws Exception {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), UTF_8);
    return new Run(process.waitFor(), output);
  }

  @BeforeEach
  void install() throws Exception {
    Path root = Scripts.root();
    Run made =
        run(List.of("make", "-s", "-C", root.resolve("e2e/fakenvml").toString(), "OUT=" + folder));
    assertThat(made.status()).as(made.output()).isZero();
    driver = folder.resolve("driver");
    gpus =
        NodeGpus.create(
            driver, folder.resolve("libnvidia-ml.so.1"), "node", List.of(Model.T4, Model.T4));
    gpus.driver("version=" + VERSION + " limits=dmem");
    toolkit = NvidiaToolkit.ofNodes();
    Path libraries = gpus.libraryFolder();
    Files.copy(toolkit.resolve("../libcuda.so"), libraries.resolve("libcuda.so." + VERSION));
    Files.copy(
        folder.resolve("libnvidia-ml.so.1"), libraries.resolve("libnvidia-ml.so." + VERSION));
  }

  private Run start(String... variables) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                Scripts.root().resolve("e2e/nvidia-toolkit/runtime.sh").toString(),
                StandIn.build(KubernetesVersion.ofClusters()).image(),
                toolkit.toString(),
                driver.toString(),
                "NVIDIA_VISIBLE_DEVICES=" + gpus.uuid(1)));
    command.addAll(List.of(variables));
    return run(command);
  }

  @Test
  void containersOwnCgroup_hasTheLimit_whichNvidiasHookSets() throws Exception {
    Run limited = start(SHARE, "NVIDIA_GPU_MEMORY_REQUEST=0");
    assertThat(limited.status()).as(limited.output()).isZero();
    assertThat(limited.output().lines())
        .contains("cgroup=/kubepods/pod1/c1", "limits=0 " + (3727L << 20));
    Run free = start();
    assertThat(free.output().lines()).contains("cgroup=/kubepods/pod1/c1", "limits=");
  }

  /** containerd puts the image's variables first. */
  @Test
  void imageThatLies_getsItsOwnLimit_orDoesNotStart() throws Exception {
    Run larger = start("NVIDIA_GPU_MEMORY_LIMIT=8000", SHARE, "NVIDIA_GPU_MEMORY_REQUEST=0");
    assertThat(larger.output().lines()).contains("limits=0 " + (8000L << 20));
    Run tooMuch = start("NVIDIA_GPU_MEMORY_LIMIT=999999", SHARE, "NVIDIA_GPU_MEMORY_REQUEST=0");
    assertThat(tooMuch.status()).isNotZero();
    assertThat(tooMuch.output()).contains("failed to set memory limits").contains("Invalid");
  }
}
