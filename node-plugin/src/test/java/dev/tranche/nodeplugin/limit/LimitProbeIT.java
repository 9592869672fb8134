package dev.tranche.nodeplugin.limit;

import static dev.tranche.nodeplugin.FakeNvml.gpu;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.FakeNvml;
import dev.tranche.nodeplugin.config.AllocateOptions;
import dev.tranche.nodeplugin.config.Configs;
import dev.tranche.nodeplugin.config.WatchOptions.LimitOptions;
import dev.tranche.nodeplugin.config.WatchOptions.MemoryLimits;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.JnaNvml;
import dev.tranche.nodeplugin.nvml.Nvml;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a node can limit, by the simulated driver and a toolkit's folder. */
class LimitProbeIT {
  private static final AllocateOptions ENVVAR = Configs.of().allocate();
  private static final AllocateOptions CDI =
      Configs.of("--device-list-strategy=cdi-cri").allocate();

  @TempDir Path folder;
  private FakeNvml fake;
  private Path cgroups;
  private Path toolkit;
  private LimitProbe probe;
  private long nowMs;

  @BeforeEach
  void prepare() throws Exception {
    fake = FakeNvml.compiled();
    cgroups = Files.createDirectory(folder.resolve("cgroup"));
    Files.createFile(cgroups.resolve("cgroup.controllers"));
    toolkit = Files.createDirectory(folder.resolve("toolkit"));
    program("nvidia-container-runtime", Toolkit.HOOK);
    program("nvidia-cdi-hook", Toolkit.HOOK);
    program("nvidia-ctk", Toolkit.HOOK);
    probe = probe(MemoryLimits.REQUIRED);
  }

  private LimitProbe probe(MemoryLimits mode) {
    return new LimitProbe(
        new LimitOptions(mode, false, true, cgroups, toolkit, folder.resolve("etc")), () -> nowMs);
  }

  /** The name is where two chunks meet that are read one after the other. */
  private void program(String name, String hook) throws IOException {
    Files.writeString(
        toolkit.resolve(name), "x".repeat((64 << 10) - 5) + hook + "x".repeat(100_000));
  }

  private void driver(String more, String... gpus) throws IOException {
    String[] lines = new String[gpus.length + 1];
    lines[0] = "driver version=615.71.09 " + more;
    System.arraycopy(gpus, 0, lines, 1, gpus.length);
    fake.state(lines);
  }

  private NodeLimits probed() {
    try (Nvml nvml = JnaNvml.open(fake.root())) {
      Map<GpuInfo, Integer> indexes = new LinkedHashMap<>();
      for (int index = 0; index < nvml.count(); index++) {
        indexes.put(nvml.info(index), index);
      }
      return probe.probe(nvml, indexes);
    }
  }

  private String obstacle(AllocateOptions options) {
    return probed().obstacle("GPU-0", options).orElse("");
  }

  @Test
  void limitIsSetReadBackAndRemoved_belowTheKubeletsCgroup() throws Exception {
    for (String backend : new String[] {"dmem", "misc"}) {
      driver("limits=" + backend, gpu(0, ""), gpu(1, ""));
      probe.restart();
      NodeLimits limits = probed();
      LimitSupport works =
          backend.equals("misc") ? LimitSupport.WORKS_INHERITED : LimitSupport.WORKS;
      assertThat(limits.gpus()).isEqualTo(Map.of("GPU-0", works, "GPU-1", works));
      assertThat(limits.obstacle("GPU-0", ENVVAR)).isEmpty();
      assertThat(limits.obstacle("GPU-0", CDI)).isEmpty();
      assertThat(cgroups).isDirectoryNotContaining("glob:**/tranche-*");
      assertThat(fake.library().getParent()).isDirectoryNotContaining("glob:**/gpus.state.limit.*");
    }
    // What an earlier run has left is used and removed.
    Path left = cgroups.resolve("kubepods.slice/tranche-memory-limit-probe/without-limit");
    Files.createDirectories(left);
    probe.restart();
    assertThat(obstacle(ENVVAR)).isEmpty();
    assertThat(left.getParent()).doesNotExist();
  }

  @Test
  void autoAndOff_tryNothing() throws Exception {
    driver("limits=dmem", gpu(0, ""));
    for (MemoryLimits mode : new MemoryLimits[] {MemoryLimits.AUTO, MemoryLimits.OFF}) {
      probe = probe(mode);
      assertThat(probed()).isEqualTo(NodeLimits.NONE);
      assertThat(obstacle(ENVVAR)).isEmpty();
    }
  }

  @Test
  void whatIsMissing_isNamed_withWhatToChange() throws Exception {
    driver("", gpu(0, ""));
    assertThat(obstacle(ENVVAR))
        .isEqualTo(
            "driver 615.71.09 has no memory limits; install a driver of the branch R615 or newer");
    nowMs += LimitProbe.RETRY_MS;
    driver("limits=none", gpu(0, ""));
    assertThat(obstacle(ENVVAR)).contains("Not Supported").contains("Linux 6.14 or newer");
    nowMs += LimitProbe.RETRY_MS;
    driver("limits=dmem privileges=none", gpu(0, ""));
    assertThat(obstacle(ENVVAR)).contains("Insufficient Permissions").contains("SYS_ADMIN");
    nowMs += LimitProbe.RETRY_MS;
    driver("limits=dmem", gpu(0, ""), "answer function=nvmlDeviceGetMemoryLimits_v1 code=3");
    assertThat(obstacle(ENVVAR)).contains("reads back none");
    nowMs += LimitProbe.RETRY_MS;
    Files.delete(cgroups.resolve("cgroup.controllers"));
    driver("limits=dmem", gpu(0, ""));
    assertThat(obstacle(ENVVAR)).startsWith("n/a: cgroup v1: " + cgroups);
  }

  @Test
  void failure_isTriedAgainLater_andSuccessOnlyWithAnotherDriver() throws Exception {
    driver("limits=none", gpu(0, ""));
    assertThat(obstacle(ENVVAR)).isNotEmpty();
    driver("limits=dmem", gpu(0, ""));
    nowMs += LimitProbe.RETRY_MS - 1;
    assertThat(obstacle(ENVVAR)).isNotEmpty();
    nowMs++;
    assertThat(obstacle(ENVVAR)).isEmpty();
    driver("limits=none", gpu(0, ""));
    nowMs += LimitProbe.RETRY_MS;
    assertThat(obstacle(ENVVAR)).isEmpty();
    probe.restart();
    assertThat(obstacle(ENVVAR)).isNotEmpty();
  }

  @Test
  void toolkit_isCheckedByTheStrategy_andAgainAfterAWhile() throws Exception {
    driver("limits=dmem", gpu(0, ""));
    program("nvidia-ctk", "update-ldcache");
    assertThat(obstacle(ENVVAR)).isEmpty();
    assertThat(obstacle(CDI)).contains("nvidia-ctk is too old").contains("1.20.1 or newer");
    Files.delete(toolkit.resolve("nvidia-cdi-hook"));
    assertThat(obstacle(ENVVAR)).isEmpty();
    nowMs += LimitProbe.RETRY_MS;
    assertThat(obstacle(ENVVAR)).contains("has no program nvidia-cdi-hook");
    // As the installer of NVIDIA's container does.
    program("nvidia-cdi-hook.real", Toolkit.HOOK);
    Files.writeString(toolkit.resolve("nvidia-cdi-hook"), "#! /bin/sh\n");
    nowMs += LimitProbe.RETRY_MS;
    assertThat(obstacle(ENVVAR)).isEmpty();
    program("nvidia-cdi-hook", "update-ldcache");
    nowMs += LimitProbe.RETRY_MS;
    assertThat(obstacle(ENVVAR)).as("a newer .real is not run").contains("is too old");
  }

  @Test
  void legacyRuntime_runsNoHook_butASpecOfOursDoes() throws Exception {
    driver("limits=dmem", gpu(0, ""));
    Files.createDirectory(folder.resolve("etc"));
    Files.writeString(
        folder.resolve("etc/config.toml"),
        """
        mode = "csv"
        [nvidia-container-runtime]
        log-level = "info"
        mode = "legacy"
        [nvidia-container-runtime.modes.cdi]
        mode = "cdi"
        """);
    assertThat(obstacle(ENVVAR)).contains("mode legacy").contains("cdi-cri");
    assertThat(obstacle(CDI)).isEmpty();
    assertThat(obstacle(Configs.of("--device-list-strategy=cdi-cri,envvar").allocate()))
        .contains("mode legacy");
    String[] disabled = {"--device-list-strategy=cdi-cri", "--cdi-disable-hooks=all"};
    assertThat(obstacle(Configs.of(disabled).allocate())).contains("cdi-disable-hooks");
  }
}
