package dev.tranche.e2e.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.install.Shell;
import java.io.IOException;
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

  @BeforeEach
  void install() throws Exception {
    Path root = Scripts.root();
    Shell.run(root, "make -s -C e2e/fakenvml OUT=" + folder).orFail();
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

  private Shell.Result start(String... variables) throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                Scripts.root().resolve("e2e/nvidia-toolkit/runtime.sh").toString(),
                StandIn.build(KubernetesVersion.ofClusters()).image(),
                toolkit.toString(),
                driver.toString(),
                "NVIDIA_VISIBLE_DEVICES=" + gpus.uuid(1)));
    command.addAll(List.of(variables));
    return Shell.run(new ProcessBuilder(command).redirectErrorStream(true));
  }

  @Test
  void containersOwnCgroup_hasTheLimit_whichNvidiasHookSets() throws Exception {
    Shell.Result limited = start(SHARE, "NVIDIA_GPU_MEMORY_REQUEST=0");
    assertThat(limited.orFail().lines())
        .contains("cgroup=/kubepods/pod1/c1", "limits=0 " + (3727L << 20));
    Shell.Result free = start();
    assertThat(free.output().lines()).contains("cgroup=/kubepods/pod1/c1", "limits=");
  }

  /** containerd puts the image's variables first. */
  @Test
  void imageThatLies_getsItsOwnLimit_orDoesNotStart() throws Exception {
    Shell.Result larger =
        start("NVIDIA_GPU_MEMORY_LIMIT=8000", SHARE, "NVIDIA_GPU_MEMORY_REQUEST=0");
    assertThat(larger.output().lines()).contains("limits=0 " + (8000L << 20));
    Shell.Result tooMuch =
        start("NVIDIA_GPU_MEMORY_LIMIT=999999", SHARE, "NVIDIA_GPU_MEMORY_REQUEST=0");
    assertThat(tooMuch.status()).isNotZero();
    assertThat(tooMuch.output()).contains("failed to set memory limits").contains("Invalid");
  }
}
