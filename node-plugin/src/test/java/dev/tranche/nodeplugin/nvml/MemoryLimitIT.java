package dev.tranche.nodeplugin.nvml;

import static dev.tranche.nodeplugin.FakeNvml.gpu;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory limits against the simulated library, by both backends of the driver. */
class MemoryLimitIT extends WithNvml {
  private static final long LIMIT_BYTES = 1024L << 20;

  @TempDir Path root;
  private Path pod;
  private Path container;

  @BeforeEach
  void cgroups() throws Exception {
    pod = root.resolve("kubepods/pod1");
    container = Files.createDirectories(pod.resolve("container"));
  }

  private static String driver(String more) {
    return "driver version=615.71.09 " + more;
  }

  private String process(int pid, int usedMib, String more) {
    return "process gpu=0 pid=%d used_mib=%d cgroup=%s %s".formatted(pid, usedMib, container, more);
  }

  private long usedMib(int pid) {
    return nvml.processes(0).stream()
            .filter(process -> process.pid() == pid)
            .findFirst()
            .orElseThrow()
            .memoryUsedBytes()
        >> 20;
  }

  @ParameterizedTest
  @ValueSource(strings = {"dmem", "misc"})
  void limit_isReadBackAndCleared_ofOneGpuAndOneCgroup(String backend) throws Exception {
    open(driver("limits=" + backend), gpu(0, ""), gpu(1, ""));
    assertThat(nvml.memoryLimit(0, container)).isEmpty();
    fake.limit(0, container, LIMIT_BYTES);
    assertThat(nvml.memoryLimit(0, container)).contains(new MemoryLimit(LIMIT_BYTES, 0));
    assertThat(nvml.memoryLimit(1, container)).isEmpty();
    assertThat(nvml.memoryLimit(0, pod)).isEmpty();
    fake.limit(0, container, 0);
    assertThat(nvml.memoryLimit(0, container)).isEmpty();
  }

  @Test
  void cgroupWithoutALimit_answersWithTheOneAbove_onlyWithMisc() throws Exception {
    open(driver("limits=misc"), gpu(0, ""));
    fake.limit(0, pod, LIMIT_BYTES);
    assertThat(nvml.memoryLimit(0, container).map(MemoryLimit::hardBytes)).contains(LIMIT_BYTES);
    fake.state(driver("limits=dmem"), gpu(0, ""));
    assertThat(nvml.memoryLimit(0, container)).isEmpty();
    fake.limit(0, pod, 0);
  }

  @Test
  void processesGetNoMoreThanTheLimit_butManagedMemoryEscapes() throws Exception {
    open(
        driver("limits=dmem"),
        gpu(0, ""),
        process(7, 800, ""),
        process(8, 800, ""),
        process(9, 5000, "managed=1"));
    assertThat(usedMib(8)).isEqualTo(800);
    fake.limit(0, pod, LIMIT_BYTES);
    assertThat(usedMib(7)).isEqualTo(800);
    assertThat(usedMib(8)).isEqualTo(224);
    assertThat(usedMib(9)).isEqualTo(5000);
    assertThat(nvml.memoryLimit(0, pod)).contains(new MemoryLimit(LIMIT_BYTES, LIMIT_BYTES));
    fake.limit(0, pod, 0);
  }

  @Test
  void memoryFromBeforeTheLimit_isCountedByDmem_andNotByMisc() throws Exception {
    String early = process(7, 2000, "early=1");
    open(driver("limits=dmem"), gpu(0, ""), early);
    fake.limit(0, container, LIMIT_BYTES);
    assertThat(nvml.memoryLimit(0, container)).contains(new MemoryLimit(LIMIT_BYTES, 2000L << 20));
    fake.state(driver("limits=misc"), gpu(0, ""), early, process(8, 2000, ""));
    assertThat(nvml.memoryLimit(0, container)).contains(new MemoryLimit(LIMIT_BYTES, LIMIT_BYTES));
    assertThat(usedMib(7)).isEqualTo(2000);
    fake.limit(0, container, 0);
  }

  @Test
  void driverThatHasNoLimits_isToldApart() throws Exception {
    open(driver(""), gpu(0, ""));
    assertThat(failure(container).functionMissing()).isTrue();
    fake.state(driver("limits=none"), gpu(0, ""));
    assertThat(nvml.memoryLimit(0, container)).isEmpty();
    fake.state(driver("limits=dmem"), gpu(0, ""));
    assertThat(failure(root.resolve("gone"))).hasMessageContaining("Operating system");
  }

  private NvmlException failure(Path cgroup) {
    return catchThrowableOfType(NvmlException.class, () -> nvml.memoryLimit(0, cgroup));
  }

  @Test
  void totalOfAGpu_isTheWholeMemory_belowALimitToo() throws IOException {
    open(driver("limits=dmem"), gpu(0, "v2_total_mib=1024"));
    GpuInfo info = nvml.info(0);
    assertThat(info.memoryTotalBytes()).isEqualTo(15360L << 20);
    assertThat(info.usableBytes()).isEqualTo((15360L - 450) << 20);
  }
}
