package dev.tranche.nodeplugin.limit;

import static dev.tranche.nodeplugin.FakeNvml.gpu;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.FakeNvml;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** NVIDIA's own hook on the simulated driver, for a process in a real cgroup v2. */
@Tag("slow")
class RealToolkitIT {
  private static final String LIMIT = "NVIDIA_GPU_MEMORY_LIMIT=3727";
  private static final String REQUEST = "NVIDIA_GPU_MEMORY_REQUEST=0";
  private static Path programs;

  @TempDir Path bundle;
  private FakeNvml fake;

  private record Run(int status, String output) {}

  private static Run run(String... command) throws Exception {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), UTF_8);
    return new Run(process.waitFor(), output);
  }

  @BeforeAll
  static void build() throws Exception {
    Run built = run("../e2e/build.sh", "nvidia-toolkit");
    assertThat(built.status()).as(built.output()).isZero();
    programs = Path.of(built.output().strip().lines().toList().getLast().split("=")[1]);
  }

  @BeforeEach
  void driver() throws Exception {
    fake = FakeNvml.compiled();
    driver("limits=dmem");
  }

  private void driver(String more) throws IOException {
    fake.state("driver version=615.71.09 " + more, gpu(0, ""));
  }

  @AfterEach
  void removeLimits() throws IOException {
    for (Path limit : limitFiles()) {
      Files.delete(limit);
    }
  }

  private List<Path> limitFiles() throws IOException {
    try (Stream<Path> files = Files.list(fake.library().getParent())) {
      return files.filter(f -> f.getFileName().toString().contains("state.limit.0.")).toList();
    }
  }

  /** Soft and hard limits of all cgroups, in bytes. */
  private List<String> limits() throws IOException {
    List<String> limits = new ArrayList<>();
    for (Path file : limitFiles()) {
      limits.add(Files.readString(file).strip());
    }
    return limits;
  }

  private Run hook(String cgroup, List<String> command, String... variables) throws Exception {
    String env = Stream.of(variables).map("\"%s\""::formatted).collect(Collectors.joining(", "));
    Files.writeString(
        bundle.resolve("config.json"),
        """
        {"ociVersion": "1.0.2", "root": {"path": "/"},
         "process": {"args": ["x"], "cwd": "/", "env": [%s]}}"""
            .formatted(env));
    List<String> all =
        new ArrayList<>(
            List.of(
                "../e2e/nvidia-toolkit/hook.sh",
                cgroup,
                bundle.toString(),
                "env",
                "LD_PRELOAD=" + programs.resolve("missing.so")));
    all.addAll(command);
    all.addAll(
        List.of(NodeLimits.HOOK, "--driver-root", fake.root().toString(), "--gpu-id", "GPU-0"));
    return run(all.toArray(String[]::new));
  }

  private static List<String> program(String name) {
    return List.of(programs.resolve(name).toString());
  }

  @Test
  void hook_setsTheLimitOfTheContainersCgroup_byBothPrograms() throws Exception {
    List<List<String>> commands =
        List.of(
            program("nvidia-cdi-hook"), List.of(programs.resolve("nvidia-ctk").toString(), "hook"));
    for (List<String> command : commands) {
      Run run = hook("v2", command, LIMIT, REQUEST);
      assertThat(run.status()).as(run.output()).isZero();
      assertThat(limits()).containsExactly("0 " + (3727L << 20));
      removeLimits();
    }
    assertThat(hook("v2", program("nvidia-cdi-hook"), "PATH=/bin").status()).isZero();
    assertThat(limits()).isEmpty();
  }

  @Test
  void imagesOwnVariable_winsWhereTheRuntimeKeepsBoth() throws Exception {
    String image = "NVIDIA_GPU_MEMORY_LIMIT=8000";
    assertThat(hook("v2", program("nvidia-cdi-hook"), image, LIMIT, REQUEST).status()).isZero();
    assertThat(limits()).containsExactly("0 " + (8000L << 20));
    String tooMuch = "NVIDIA_GPU_MEMORY_LIMIT=999999";
    Run refused = hook("v2", program("nvidia-cdi-hook"), tooMuch, LIMIT, REQUEST);
    assertThat(refused.status()).isNotZero();
    assertThat(refused.output()).containsIgnoringCase("invalid argument");
  }

  /** So a container does not start there. */
  @Test
  void hook_fails_onCgroupV1_andWhereTheDriverSetsNoLimit() throws Exception {
    Run v1 = hook("v1", program("nvidia-cdi-hook"), LIMIT, REQUEST);
    assertThat(v1.status()).isNotZero();
    assertThat(v1.output()).contains("cgroup v2");
    for (String mood : List.of("", "limits=none", "limits=dmem privileges=none")) {
      driver(mood);
      assertThat(hook("v2", program("nvidia-cdi-hook"), LIMIT, REQUEST).status()).isNotZero();
    }
    assertThat(limits()).isEmpty();
  }

  @Test
  void olderProgram_succeedsWithoutALimit() throws Exception {
    Run run = hook("v2", program("older/nvidia-cdi-hook"), LIMIT, REQUEST);
    assertThat(run.status()).as(run.output()).isZero();
    assertThat(limits()).isEmpty();
  }
}
