package dev.tranche.nodeplugin.usage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.tranche.nodeplugin.nvml.GpuProcess;
import dev.tranche.nodeplugin.nvml.GpuReading;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class UsageReaderIT {
  private static final String UID = "0a1b2c3d-1111-2222-3333-444455556666";
  private static final String ID = "ab12".repeat(16);

  @TempDir Path host;
  private long nowMs = 100_000;
  private UsageReader usage;

  @BeforeEach
  void start() throws IOException {
    usage = new UsageReader(host.resolve("proc"), host.resolve("log"), () -> nowMs);
    Files.createDirectories(host.resolve("log/pods/ns_train-0_" + UID + "/main"));
    Files.createDirectories(host.resolve("log/containers"));
    Files.writeString(host.resolve("log/containers/train-0_ns_main-" + ID + ".log"), "");
    process(7, "0::/kubepods/burstable/pod" + UID + "/" + ID);
    process(8, "0::/kubepods/burstable/pod" + UID + "/" + ID);
    process(9, "0::/system.slice/gdm.service");
  }

  private void process(int pid, String cgroup) throws IOException {
    Path folder = Files.createDirectories(host.resolve("proc").resolve(Integer.toString(pid)));
    Files.writeString(folder.resolve("cgroup"), cgroup + "\n");
  }

  @Test
  void processesOfAContainer_areOneUse_othersAreLeftOut() {
    List<GpuProcess> processes =
        List.of(
            new GpuProcess(7, 100, 10),
            new GpuProcess(8, 50, 5),
            new GpuProcess(9, 70, 50),
            new GpuProcess(4711, 1, 1));
    assertThat(usage.of(processes, new GpuReading(300, 70, 3)))
        .containsExactly(new ContainerUse(new ContainerName("ns", "train-0", "main"), 150, 15));
  }

  /** Not 0: the driver of a GPU with unified memory tells nothing. */
  @Test
  void memoryThatTheDriverDoesNotTell_staysUnknown() {
    List<GpuProcess> processes =
        List.of(new GpuProcess(7, 300, 60), new GpuProcess(8, GpuReading.UNKNOWN, 10));
    ContainerUse use = usage.of(processes, new GpuReading(200, 70, 2)).getFirst();
    assertThat(use.memoryUsedBytes()).isEqualTo(GpuReading.UNKNOWN);
    assertThat(use.smPercent()).isCloseTo(70, within(0.001));
  }

  @Test
  void sum_neverExceedsTheGpus() {
    List<GpuProcess> processes =
        List.of(new GpuProcess(7, 300, 60), new GpuProcess(9, 10, 0), new GpuProcess(8, 100, 60));
    ContainerUse use = usage.of(processes, new GpuReading(200, 90, 2)).getFirst();
    assertThat(use.memoryUsedBytes()).isEqualTo(200);
    assertThat(use.smPercent()).isCloseTo(90, within(0.001));
  }

  @Test
  void podThatIsNew_isFound_afterThePause() throws IOException {
    List<GpuProcess> processes = List.of(new GpuProcess(5, 10, 0));
    String uid = "ffffffff-1111-2222-3333-444455556666";
    process(5, "0::/kubepods/pod" + uid + "/" + ID.replace('a', 'f'));
    assertThat(usage.of(processes, new GpuReading(100, 0, 1))).isEmpty();
    Files.createDirectories(host.resolve("log/pods/ns_late_" + uid));
    nowMs += 10_000;
    assertThat(usage.of(processes, new GpuReading(100, 0, 1)))
        .containsExactly(new ContainerUse(new ContainerName("ns", "late", "fb12fb12fb12"), 10, 0));
  }

  /** Else a container could have its memory counted as another's. */
  @Test
  void pidThatLeftTheGpus_mayBeAnothersProcess_atItsReturn() throws IOException {
    List<GpuProcess> processes = List.of(new GpuProcess(7, 100, 10));
    GpuReading reading = new GpuReading(300, 70, 3);
    assertThat(usage.of(processes, reading)).hasSize(1);
    usage.sampled();
    usage.sampled();
    process(7, "0::/system.slice/gdm.service");
    assertThat(usage.of(processes, reading)).isEmpty();
  }

  /** A process chooses its arguments, and shows as many as it likes. */
  @Test
  void argumentsOfGigabytes_areNotRead() throws IOException {
    try (var file = new RandomAccessFile(host.resolve("proc/7/cmdline").toFile(), "rw")) {
      file.writeBytes("python\0");
      file.setLength(3L << 30);
    }
    assertThat(usage.of(List.of(new GpuProcess(7, 100, 10)), new GpuReading(300, 70, 3)))
        .containsExactly(new ContainerUse(new ContainerName("ns", "train-0", "main"), 100, 10));
  }

  @Test
  void folderThatIsMissing_leavesUseUnknown() {
    var without = new UsageReader(host.resolve("proc"), host.resolve("nothing"), () -> nowMs);
    assertThat(without.of(List.of(new GpuProcess(7, 1, 1)), new GpuReading(1, 1, 1))).isEmpty();
  }

  @Test
  void mpsServer_isNobodys_sinceItsMemoryIsItsClients() throws IOException {
    Files.writeString(host.resolve("proc/8/cmdline"), "/usr/bin/nvidia-cuda-mps-server\0-x\0");
    Files.writeString(host.resolve("proc/7/cmdline"), "python\0nvidia-cuda-mps-server\0");
    List<GpuProcess> processes = List.of(new GpuProcess(7, 100, 10), new GpuProcess(8, 900, 0));
    assertThat(usage.of(processes, new GpuReading(1_000, 10, 2)))
        .containsExactly(new ContainerUse(new ContainerName("ns", "train-0", "main"), 100, 10));
  }
}
