package dev.tranche.e2e.machine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@code ./demo --gpu} with a simulated NVML: all else is what runs on a machine with a GPU. */
@Order(95)
@Tag("machine")
class GpuDemoE2E {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /** Not ./demo --gpu, which would list anew what this run of the tests has built. */
  private static final String PACK =
      "JAVA_HOME=" + System.getProperty("java.home") + " e2e/machine/pack.sh target/gpu-demo 0";

  @AfterEach
  void end() throws IOException {
    Shell.run(ROOT, "target/gpu-demo/demo down");
  }

  @Test
  void threePodsShareTheGpu_aFourthWaitsForMemory_andNothingIsLeft() throws IOException {
    String shown = Shell.run(ROOT, PACK + " && target/gpu-demo/demo up --simulated").orFail();
    assertThat(shown)
        .contains("Tesla T4 with 14910 MiB, 20 shares")
        // Half of the GPU's memory, of a share of three tenths.
        .containsPattern("greedy +300m +/dev/nvidia0 +7455 MiB")
        .containsPattern("steady +300m +/dev/nvidia0 +2982 MiB")
        .containsPattern("small +200m +/dev/nvidia0 +1491 MiB")
        .contains("processes there use too much of the memory")
        .containsPattern("late +200m +/dev/nvidia0 +745 MiB")
        .containsPattern("greedy +300m +/dev/nvidia0 +64 MiB");
    assertThat(Shell.run(ROOT, "target/gpu-demo/demo up").output())
        .contains("it runs already; target/gpu-demo/demo down ends it");

    Shell.run(ROOT, "target/gpu-demo/demo down").orFail();
    assertNothingIsLeft();
  }

  @Test
  void checks_findNothingWrong_andNothingIsLeft() throws IOException {
    String shown = Shell.run(ROOT, PACK + " && target/gpu-demo/demo verify --simulated").orFail();
    assertThat(shown)
        .contains("the program sees /dev/nvidia0, assigned was /dev/nvidia0")
        .contains("ok             a killed program: it runs again")
        .contains("ok             a killed node plugin: it runs again, and the pods went on")
        .contains("they went on while 20 replicas became 24")
        .contains("1 not available");
    assertThat(ROOT.resolve("target/gpu-demo/verify-gpu.json")).isNotEmptyFile();
    assertNothingIsLeft();
  }

  private static void assertNothingIsLeft() throws IOException {
    assertThat(Shell.output("grep gpu-demo /proc/mounts || true")).isEmpty();
    assertThat(Shell.output("find /sys/fs/cgroup -name tranche-demo")).isEmpty();
    assertThat(Shell.output("pgrep -f '[g]pu-demo/files|[g]pu-load --' || true")).isEmpty();
  }
}
