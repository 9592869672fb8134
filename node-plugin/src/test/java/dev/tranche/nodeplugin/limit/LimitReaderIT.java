package dev.tranche.nodeplugin.limit;

import static dev.tranche.nodeplugin.FakeNvml.gpu;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.FakeNvml;
import dev.tranche.nodeplugin.config.Options.LimitOptions;
import dev.tranche.nodeplugin.limit.ContainerLimit.Limited;
import dev.tranche.nodeplugin.nvml.JnaNvml;
import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.usage.ContainerCgroups;
import dev.tranche.nodeplugin.usage.ContainerName;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Limits of containers, read back through the simulated driver. */
class LimitReaderIT {
  private static final String UID = "6c3a1b2e-0000-4000-8000-0123456789ab";
  private static final long GIB = 1L << 30;
  private static final ContainerName MAIN = new ContainerName("ns", "p", "main");

  @TempDir Path folder;
  private FakeNvml fake;
  private Nvml nvml;
  private Path cgroups;
  private LimitReader reader;
  private long nowMs;

  private void backend(String name) throws Exception {
    fake.state("driver version=615.71.09 limits=" + name, gpu(0, ""));
  }

  @BeforeEach
  void open() throws Exception {
    fake = FakeNvml.compiled();
    fake.state("driver version=615.71.09 limits=dmem", gpu(0, ""));
    nvml = JnaNvml.open(fake.root());
    cgroups = Files.createDirectory(folder.resolve("cgroup"));
    Files.createFile(cgroups.resolve("cgroup.controllers"));
    Files.createDirectories(folder.resolve("log/pods/ns_p_" + UID));
    Files.createDirectories(folder.resolve("log/containers"));
    reader =
        new LimitReader(
            new LimitOptions(true, true, cgroups),
            new ContainerCgroups(cgroups, folder.resolve("log"), () -> nowMs));
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
    // Names are listed anew after some seconds.
    nowMs += 10_000;
    now();
    return now();
  }

  private List<ContainerLimit> now() {
    return reader.read(nvml, Map.of("GPU-0", 0)).containers();
  }

  private String obstacle() {
    return reader.read(nvml, Map.of("GPU-0", 0)).node().nodeObstacle().orElse("");
  }

  private static ContainerLimit main(Limited limited, long hardBytes) {
    return new ContainerLimit(MAIN, "GPU-0", limited, hardBytes, hardBytes == 0 ? -1 : 0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"dmem", "misc"})
  void limitOfTheContainersOwnCgroup_isRead_andNoOther(String backend) throws Exception {
    backend(backend);
    assertThat(read()).as("it does not run yet").isEmpty();
    Path container = systemd(started("main", 'a'));
    Path pod = container.resolve("..").normalize();
    Path pause = systemd(started("other", 'b'));
    fake.limit(0, pause, GIB);
    assertThat(read()).containsExactly(main(Limited.NO, 0));
    fake.limit(0, pod, 4 * GIB);
    assertThat(read()).as("of its pod").containsExactly(main(Limited.NO, 0));
    fake.limit(0, pod, 0);
    fake.limit(0, container, 4 * GIB);
    assertThat(read()).containsExactly(main(Limited.YES, 4 * GIB));
    fake.limit(0, container, 8 * GIB);
    assertThat(read()).containsExactly(main(Limited.PARTLY, 8 * GIB));
    Files.delete(container);
    assertThat(read()).isEmpty();
  }

  @Test
  void whatTheNodeLacks_isNamed_withWhatToChange() throws Exception {
    assertThat(obstacle()).isEmpty();
    fake.state("driver version=580.1", gpu(0, ""));
    assertThat(obstacle())
        .isEqualTo(
            "driver 580.1 has no memory limits; install a driver of the branch R615 or newer");
    // NVIDIA's hook ends the start of a container there.
    fake.state("driver version=615.71.09 limits=none", gpu(0, ""));
    assertThat(obstacle()).isEmpty();
    Files.delete(cgroups.resolve("cgroup.controllers"));
    assertThat(obstacle()).startsWith("n/a: cgroup v1: " + cgroups);
  }

  @ParameterizedTest
  @ValueSource(strings = {"dmem", "misc"})
  void useThatCountsAgainstTheLimit_isRead(String backend) throws Exception {
    Path container = systemd(started("main", 'a'));
    fake.state(
        "driver version=615.71.09 limits=" + backend,
        gpu(0, ""),
        "process gpu=0 pid=7 used_mib=300 sm=0 cgroup=" + container);
    fake.limit(0, container, 4 * GIB);
    assertThat(read())
        .containsExactly(new ContainerLimit(MAIN, "GPU-0", Limited.YES, 4 * GIB, 300L << 20));
  }

  @Test
  void containerThatMustNotBeLimited_isToldAsSuch() throws Exception {
    Path container = systemd(started("main", 'a'));
    reader.expect(List.of(new ExpectedLimit(MAIN, "GPU-0", 0)));
    assertThat(now()).as("at once").containsExactly(main(Limited.OPTED_OUT, 0));
    fake.limit(0, container, GIB);
    assertThat(read()).containsExactly(main(Limited.OPTED_OUT, GIB));
  }

  @Test
  void cgroupfsAndCrun_haveOtherFolders() throws Exception {
    Path container =
        Files.createDirectories(
            cgroups.resolve("kubepods/burstable/pod" + UID + "/" + started("main", 'a')));
    fake.limit(0, container, GIB);
    assertThat(read()).containsExactly(main(Limited.YES, GIB));
    Path ofCrun = Files.createDirectory(container.resolve("container"));
    assertThat(read()).containsExactly(main(Limited.NO, 0));
    fake.limit(0, ofCrun, 2 * GIB);
    assertThat(read()).containsExactly(main(Limited.YES, 2 * GIB));
  }

  /** The cgroup is there shortly before NVIDIA's hook runs. */
  @Test
  void missingLimit_countsOnlyIfItIsMissingTwice() throws Exception {
    Path container = systemd(started("main", 'a'));
    assertThat(now()).isEmpty();
    fake.limit(0, container, GIB);
    assertThat(now()).containsExactly(main(Limited.YES, GIB));
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
