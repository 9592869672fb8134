package dev.tranche.e2e.machine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code ./demo --gpu} with a simulated NVML: all else is what runs on a machine with a GPU. */
@Order(95)
@Tag("machine")
class GpuDemoE2E {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /** Not ./demo --gpu, which would list anew what this run of the tests has built. */
  private static final String PACK =
      "JAVA_HOME=" + System.getProperty("java.home") + " e2e/machine/pack.sh target/gpu-demo 0";

  /** A root with nothing in it but the packed folder and what a kernel shows. */
  private static final String EMPTY_ROOT =
      """
      mkdir -p target/empty-root && unshare --mount --propagation private bash -ec '
        mount -t tmpfs tmpfs target/empty-root
        mkdir target/empty-root/{gpu-demo,proc,sys,dev,old}
        mount --bind target/gpu-demo target/empty-root/gpu-demo
        for each in proc sys dev; do mount --rbind /$each target/empty-root/$each; done
        cd target/empty-root
        %s
        pivot_root . old
        exec /gpu-demo/busybox sh -ec "cd /; umount -l old; exec /gpu-demo/busybox sh /gpu-demo/demo %s"'\
      """;

  /** Another machine's /proc, /sys and /dev, as far as the probe looks at them. */
  private static final String LACKING =
      """
      echo "Linux version 4.4.0 gVisor" >old/version
      mount --bind old/version proc/version
      mount --bind old/version proc/filesystems
      mount -t tmpfs tmpfs sys
      mount -t tmpfs tmpfs dev
      mknod dev/null c 1 3
      """;

  @BeforeAll
  static void pack() throws IOException {
    Shell.run(ROOT, "! [ -d target/gpu-demo/state ] || target/gpu-demo/demo down").orFail();
    Shell.run(ROOT, PACK).orFail();
  }

  @AfterEach
  void end() throws IOException {
    Shell.run(ROOT, "target/gpu-demo/demo down");
  }

  private static String simulated(int gpus) {
    return "export TRANCHE_SIMULATED_GPUS=" + gpus + "; ";
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void inAnEmptyRoot_threePodsShareTheGpu_aFourthWaits_andNothingIsLeft(int gpus)
      throws IOException {
    String up = simulated(gpus) + EMPTY_ROOT.formatted("", "up --simulated=580.82.07");
    String shown = Shell.run(ROOT, up).orFail();
    assertThat(shown)
        .contains("without memory limits: driver 580.82.07 is older than R615")
        .contains("Tesla T4 with 14910 MiB, 20 shares")
        // Half of the GPU's memory, of a share of three tenths.
        .containsPattern("greedy +300m +/dev/nvidia0 +7455 MiB +\\S+ +- +0.3 of it, 4473 MiB\n")
        .containsPattern("steady +300m +/dev/nvidia0 +2982 MiB")
        .containsPattern("small +200m +/dev/nvidia0 +1491 MiB")
        .contains("processes there use too much of the memory")
        .containsPattern("late +200m +/dev/nvidia0 +745 MiB")
        .containsPattern("greedy +300m +/dev/nvidia0 +64 MiB");
    assertThat(Shell.run(ROOT, "target/gpu-demo/demo up").output())
        .contains("it runs already; ")
        .contains("/gpu-demo/demo down ends it");
    assertThat(Shell.run(ROOT, "target/gpu-demo/demo verify").output())
        .contains("it runs already; ");
    Shell.run(ROOT, "target/gpu-demo/demo kubectl get nodes").orFail();

    Shell.run(ROOT, "target/gpu-demo/demo down").orFail();
    assertNothingIsLeft();
  }

  @ParameterizedTest
  @CsvSource({
    "1, toolkit: 1.20.2 (packed), not available  real load: there is one GPU, 20 replicas became"
        + " 24",
    "2, toolkit: unknown, ok             real load: the next pod got /dev/nvidia1, 40 replicas"
        + " became 44"
  })
  void checks_findNothingWrong_andNothingIsLeft(
      int gpus, String toolkit, String load, String replicas) throws IOException {
    // One has a toolkit of its own. What was built here does not know its version.
    String path = gpus == 1 ? "" : "PATH=%s:$PATH ".formatted(Shell.built("nvidia-toolkit"));
    long startNs = System.nanoTime();
    String verify = simulated(gpus) + path + "target/gpu-demo/demo verify --simulated --mps";
    String shown = Shell.run(ROOT, verify).orFail();
    // A real GPU is measured for 50 s longer, and eight minutes are promised.
    assertThat(Duration.ofNanos(System.nanoTime() - startNs)).isLessThan(Duration.ofMinutes(7));
    assertThat(shown)
        .contains(toolkit, load, replicas)
        .contains("the program sees /dev/nvidia0, assigned was /dev/nvidia0")
        .contains("ok             steady: read back as limited: Yes")
        .contains("ok             greedy: read back as limited: OptedOut")
        .contains("the GPU has no 7455 MiB left for this container")
        .contains("ok             a killed program: it runs again")
        .contains("ok             a killed node plugin: it runs again, and the pods went on")
        .contains("ok             fifth, threads: 0.2 of the GPU: the program sees 8 of 40");
    assertThat(ROOT.resolve("target/gpu-demo/verify-gpu.json")).isNotEmptyFile();
    assertThat(ROOT.resolve("target/gpu-demo/verify-gpu.log")).isNotEmptyFile();
    assertNothingIsLeft();
  }

  @Test
  void checksOfANodeThatDoesNotStart_leaveNothing() throws IOException {
    var failed = Shell.run(ROOT, "target/gpu-demo/demo verify --simulated=580.0/none");
    assertThat(failed.status()).isNotZero();
    assertThat(failed.output()).contains("error: the node ended");
    assertThat(ROOT.resolve("target/gpu-demo/state")).doesNotExist();
    assertNothingIsLeft();
  }

  @Test
  void probe_saysWhatIsMissing_andNothingStartsThere() throws IOException {
    assertThat(Shell.run(ROOT, "setpriv --reuid=65534 target/gpu-demo/demo probe").output())
        .contains("error: run this as root");
    Shell.run(ROOT, "target/gpu-demo/demo probe").orFail();
    String older = Shell.built("nvidia-toolkit") + "/older";
    String probe = "PATH=%s:$PATH target/gpu-demo/demo probe --simulated".formatted(older);
    assertThat(Shell.run(ROOT, probe).orFail())
        .contains("without memory limits: " + older + "/nvidia-cdi-hook is older than 1.20.1");
    String powerless = "setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin linux32 ";
    assertThat(Shell.run(ROOT, powerless + "target/gpu-demo/demo probe --simulated").orFail())
        .contains("missing: x86-64; the programs are for no other processor")
        .contains("missing: namespaces; mount, net, uts and ipc cannot be made here")
        .contains("missing: veth and netfilter; the kernel has");
    var refused = Shell.run(ROOT, EMPTY_ROOT.formatted(LACKING, "up --mps"));
    assertThat(refused.status()).isNotZero();
    assertThat(refused.output())
        .contains("missing: a kernel of its own; a gVisor sandbox runs no containers")
        .contains("without overlayfs: files of containers are copied")
        .contains("missing: NVIDIA's driver; there is no /dev/nvidiactl")
        .contains("missing: /dev/nvidia-uvm, which CUDA needs")
        .contains("without nvidia-smi: GPUs cannot be compared with it")
        .contains("without MPS: there is no nvidia-cuda-mps-control on the PATH")
        .contains("without memory limits: the kernel has no controller")
        .contains("error: this machine lacks what is missing above");
    assertNothingIsLeft();
  }

  private static void assertNothingIsLeft() throws IOException {
    assertThat(Shell.output("grep gpu-demo /proc/mounts || true")).isEmpty();
    String inode = Shell.run(ROOT, "stat -c %i target/gpu-demo").orFail().strip();
    assertThat(Shell.output("find /sys/fs/cgroup -name tranche-demo-" + inode)).isEmpty();
    assertThat(Shell.output("pgrep -f '[g]pu-demo/files|[g]pu-load --' || true")).isEmpty();
    assertThat(Shell.output("(iptables-save; ip -o link) 2>&1 | grep -E 'KUBE-|eth0-peer' || true"))
        .isEmpty();
  }
}
