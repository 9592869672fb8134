package dev.tranche.nodeplugin.limit;

import static dev.tranche.nodeplugin.FakeNvml.gpu;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.FakeNvml;
import dev.tranche.nodeplugin.limit.ContainerLimit.Limited;
import dev.tranche.nodeplugin.nvml.JnaNvml;
import dev.tranche.nodeplugin.nvml.MemoryLimit;
import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.usage.ContainerCgroups;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Limits of containers, read back through the simulated driver. */
class LimitReaderIT {
  private static final String UID = "6c3a1b2e-0000-4000-8000-0123456789ab";
  private static final long GIB = 1L << 30;
  private static final ContainerCgroups.Name MAIN = new ContainerCgroups.Name("ns", "p", "main");

  @TempDir Path folder;
  private FakeNvml fake;
  private Nvml nvml;
  private Path cgroups;
  private LimitReader reader;
  private long nowMs;
  private NodeLimits support = limits(LimitSupport.WORKS);

  private static NodeLimits limits(LimitSupport gpu) {
    return new NodeLimits(true, false, true, Toolkit.UNKNOWN, Map.of("GPU-0", gpu));
  }

  private void backend(String name) throws Exception {
    fake.state("driver version=615.71.09 limits=" + name, gpu(0, ""));
    support = limits(name.equals("misc") ? LimitSupport.WORKS_INHERITED : LimitSupport.WORKS);
  }

  @BeforeEach
  void open() throws Exception {
    fake = FakeNvml.compiled();
    fake.state("driver version=615.71.09 limits=dmem", gpu(0, ""));
    nvml = JnaNvml.open(fake.root());
    cgroups = Files.createDirectory(folder.resolve("cgroup"));
    Files.createDirectories(folder.resolve("log/pods/ns_p_" + UID));
    Files.createDirectories(folder.resolve("log/containers"));
    reader =
        new LimitReader(
            new ContainerCgroups(cgroups, folder.resolve("log"), () -> nowMs), () -> nowMs);
    reader.expect(List.of(new ExpectedLimit(MAIN, "GPU-0", 4 * GIB)));
  }

  @AfterEach
  void close() throws Exception {
    nvml.close();
    try (var limits = Files.newDirectoryStream(fake.library().getParent(), "gpus.state.limit.*")) {
      for (Path limit : limits) {
        Files.delete(limit);
      }
    }
  }

  private String started(String name, char digit) throws Exception {
    String id = Character.toString(digit).repeat(64);
    Files.createFile(folder.resolve("log/containers/p_ns_" + name + "-" + id + ".log"));
    return id;
  }

  private Path systemd(String id) throws Exception {
    return Files.createDirectories(
        cgroups.resolve(
            "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%s.slice/cri-containerd-%s.scope"
                .formatted(UID.replace('-', '_'), id)));
  }

  /** What is known after enough time that a limit which is being set is there. */
  private List<ContainerLimit> read() {
    reader.read(nvml, Map.of("GPU-0", 0), support);
    nowMs += LimitReader.INTERVAL_MS;
    List<ContainerLimit> read = reader.read(nvml, Map.of("GPU-0", 0), support);
    nowMs += LimitReader.INTERVAL_MS;
    return read;
  }

  private static ContainerLimit main(Limited limited, long hardBytes) {
    return new ContainerLimit(MAIN, "GPU-0", limited, hardBytes, hardBytes == 0 ? -1 : 0);
  }

  /** What it had before is not counted on one backend, so the use is not known there. */
  private static ContainerLimit byPlugin(Limited limited, long hardBytes) {
    return new ContainerLimit(
        MAIN, "GPU-0", limited, hardBytes, limited == Limited.PARTLY ? -1 : 0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"dmem", "misc"})
  void limitOfTheContainersOwnCgroup_isRead_andNoOther(String backend) throws Exception {
    backend(backend);
    assertThat(read()).as("it does not run yet").isEmpty();
    Path container = systemd(started("main", 'a'));
    Path pod = container.resolve("..").normalize();
    Path pause = systemd(started("other", 'b'));
    nvml.memoryLimit(0, pause, MemoryLimit.hard(GIB));
    assertThat(read()).containsExactly(main(Limited.NO, 0));
    nvml.memoryLimit(0, pod, MemoryLimit.hard(4 * GIB));
    assertThat(read()).as("of its pod").containsExactly(main(Limited.NO, 0));
    nvml.memoryLimit(0, pod, MemoryLimit.NONE);
    nvml.memoryLimit(0, container, MemoryLimit.hard(4 * GIB));
    assertThat(read()).containsExactly(main(Limited.YES, 4 * GIB));
    nvml.memoryLimit(0, container, MemoryLimit.hard(8 * GIB));
    assertThat(read()).containsExactly(main(Limited.PARTLY, 8 * GIB));
    Files.delete(container);
    assertThat(read()).isEmpty();
  }

  /** Only a backend that reads limits of cgroups above can mistake them for the container's. */
  @Test
  void limitThatThePodsCgroupHasToo_isTheContainersOwn_whereEachCgroupHasItsOwn() throws Exception {
    Path container = systemd(started("main", 'a'));
    nvml.memoryLimit(0, container.resolve("..").normalize(), MemoryLimit.hard(4 * GIB));
    nvml.memoryLimit(0, container, MemoryLimit.hard(4 * GIB));
    assertThat(read()).containsExactly(main(Limited.YES, 4 * GIB));
  }

  /**
   * A container that runs already is limited, one with a smaller limit or none by its own wish is
   * left alone. What it had before does not count on one backend.
   */
  @ParameterizedTest
  @CsvSource({"dmem, YES", "misc, PARTLY"})
  void plugin_setsLimitsItself(String backend, Limited limited) throws Exception {
    backend(backend);
    support = new NodeLimits(true, true, true, Toolkit.UNKNOWN, support.gpus());
    Path container = systemd(started("main", 'a'));
    assertThat(read()).containsExactly(byPlugin(limited, 4 * GIB));
    assertThat(nvml.memoryLimit(0, container).orElseThrow().limit())
        .isEqualTo(MemoryLimit.hard(4 * GIB));
    nvml.memoryLimit(0, container, MemoryLimit.hard(8 * GIB));
    assertThat(read()).as("a larger one").containsExactly(byPlugin(limited, 4 * GIB));
    nvml.memoryLimit(0, container, MemoryLimit.hard(GIB));
    assertThat(read()).as("a smaller one").containsExactly(byPlugin(limited, GIB));
    nvml.memoryLimit(0, container, MemoryLimit.NONE);
    reader.expect(List.of(new ExpectedLimit(MAIN, "GPU-0", 0)));
    assertThat(read()).containsExactly(main(Limited.OPTED_OUT, 0));
  }

  /** That backend refuses a limit below the use. */
  @Test
  void limitThatCannotBeSet_isMissing() throws Exception {
    backend("misc");
    support = new NodeLimits(true, true, true, Toolkit.UNKNOWN, support.gpus());
    Path container = systemd(started("main", 'a'));
    fake.state(
        "driver version=615.71.09 limits=misc",
        gpu(0, ""),
        "process gpu=0 pid=7 used_mib=5000 sm=0 cgroup=" + container);
    assertThat(read()).containsExactly(main(Limited.NO, 0));
  }

  @ParameterizedTest
  @ValueSource(strings = {"dmem", "misc"})
  void useThatCountsAgainstTheLimit_isRead(String backend) throws Exception {
    Path container = systemd(started("main", 'a'));
    fake.state(
        "driver version=615.71.09 limits=" + backend,
        gpu(0, ""),
        "process gpu=0 pid=7 used_mib=300 sm=0 cgroup=" + container);
    nvml.memoryLimit(0, container, MemoryLimit.hard(4 * GIB));
    assertThat(read())
        .containsExactly(new ContainerLimit(MAIN, "GPU-0", Limited.YES, 4 * GIB, 300L << 20));
  }

  @Test
  void containerThatMustNotBeLimited_isToldAsSuch() throws Exception {
    Path container = systemd(started("main", 'a'));
    reader.expect(List.of(new ExpectedLimit(MAIN, "GPU-0", 0)));
    assertThat(reader.read(nvml, Map.of("GPU-0", 0), support))
        .as("at once")
        .containsExactly(main(Limited.OPTED_OUT, 0));
    nowMs += LimitReader.INTERVAL_MS;
    nvml.memoryLimit(0, container, MemoryLimit.hard(GIB));
    assertThat(read()).containsExactly(main(Limited.OPTED_OUT, GIB));
  }

  @Test
  void cgroupfsAndCrun_haveOtherFolders() throws Exception {
    Path container =
        Files.createDirectories(
            cgroups.resolve("kubepods/burstable/pod" + UID + "/" + started("main", 'a')));
    nvml.memoryLimit(0, container, MemoryLimit.hard(GIB));
    assertThat(read()).containsExactly(main(Limited.YES, GIB));
    Path ofCrun = Files.createDirectory(container.resolve("container"));
    assertThat(read()).containsExactly(main(Limited.NO, 0));
    nvml.memoryLimit(0, ofCrun, MemoryLimit.hard(2 * GIB));
    assertThat(read()).containsExactly(main(Limited.YES, 2 * GIB));
  }

  /** The cgroup is there shortly before NVIDIA's hook runs. */
  @Test
  void missingLimit_countsOnlyIfItIsMissingTwice() throws Exception {
    Path container = systemd(started("main", 'a'));
    assertThat(reader.read(nvml, Map.of("GPU-0", 0), support)).isEmpty();
    nowMs += LimitReader.INTERVAL_MS - 1;
    nvml.memoryLimit(0, container, MemoryLimit.hard(GIB));
    assertThat(reader.read(nvml, Map.of("GPU-0", 0), support)).isEmpty();
    nowMs++;
    assertThat(reader.read(nvml, Map.of("GPU-0", 0), support))
        .containsExactly(main(Limited.YES, GIB));
  }

  @Test
  void nothingIsRead_ofOthersAndOfAGpuThatIsGone() throws Exception {
    systemd(started("main", 'a'));
    reader.expect(List.of());
    assertThat(read()).isEmpty();
    reader.expect(List.of(new ExpectedLimit(MAIN, "GPU-9", GIB)));
    assertThat(read()).isEmpty();
  }
}
