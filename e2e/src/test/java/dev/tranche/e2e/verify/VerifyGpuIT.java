package dev.tranche.e2e.verify;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.tranche.e2e.install.Shell;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The command as a process, over the simulated NVML in good and in bad moods. */
@Tag("slow")
class VerifyGpuIT {
  private static final String UUID = "GPU-1a2b3c4d-0000-1111-2222-333344445555";
  private static final String GPU =
      "gpu index=0 uuid="
          + UUID
          + " model=\"Tesla T4\" memory_mib=15360 reserved_mib=450 used_mib=512 sm=30";

  @TempDir Path folder;

  private record Result(int status, String output, JsonObject report) {
    /** What the check of this name says: its answer and its sentence. */
    String of(String name) {
      JsonArray checks = report.getJsonArray("checks");
      return IntStream.range(0, checks.size())
          .mapToObj(checks::getJsonObject)
          .filter(check -> check.getString("name").equals(name))
          .map(check -> check.getString("answer") + ": " + check.getString("sentence"))
          .findFirst()
          .orElse("no such check");
    }
  }

  private Path libraries() {
    return folder.resolve("usr/lib64");
  }

  private Path library() {
    return libraries().resolve("libnvidia-ml.so.1");
  }

  private static void make(String name, Path out, String... variables) throws IOException {
    Shell.run("make -s -C %s OUT=%s %s".formatted(name, out, String.join(" ", variables))).orFail();
  }

  private void driver(String without, String... state) throws Exception {
    make("fakenvml", libraries(), "WITHOUT='%s'".formatted(without));
    Files.write(library().resolveSibling("gpus.state"), List.of(state));
    for (String node : List.of("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia0")) {
      Path dev = Files.createDirectories(folder.resolve("dev"));
      Files.writeString(dev.resolve(node), "");
    }
    Files.writeString(library().resolveSibling("libcuda.so.580.82.07"), "");
  }

  /** A program of NVIDIA's. */
  private void tool(String name, String script) throws IOException {
    Path tools = Files.createDirectories(folder.resolve("tools"));
    Path file = Files.writeString(tools.resolve(name), "#!/bin/sh\n" + script);
    assertThat(file.toFile().setExecutable(true)).isTrue();
  }

  private void smi(int usedMib, int smPercent, long pid) throws IOException {
    tool(
        "nvidia-smi",
        """
        case "$*" in
          *query-gpu*) echo "%s, %d, %d" ;;
          *compute-apps*) echo %d ;;
        esac
        """
            .formatted(UUID, usedMib, smPercent, pid));
  }

  private Result verify(String... arguments) throws Exception {
    return verify(Map.of(), arguments);
  }

  private Result verify(Map<String, String> variables, String... arguments) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-Dtranche.verify.out=" + folder.resolve("verify-gpu.json"),
                "-Dtranche.verify.cgroups=" + folder.resolve("cgroup"),
                "-cp",
                System.getProperty("java.class.path"),
                VerifyGpu.class.getName(),
                "--seconds=1"));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().put("PATH", folder.resolve("tools") + ":/usr/bin:/bin");
    builder.environment().putAll(variables);
    Shell.Result ended = Shell.run(builder);
    Path report = folder.resolve("verify-gpu.json");
    return new Result(
        ended.status(),
        ended.output(),
        Files.exists(report) ? new JsonObject(Files.readString(report)) : new JsonObject());
  }

  private Result verifyFake(String... more) throws Exception {
    List<String> arguments =
        new ArrayList<>(List.of("--nvml=" + library(), "--driver-root=" + folder));
    arguments.addAll(List.of(more));
    return verify(arguments.toArray(String[]::new));
  }

  @Test
  void soundGpu_failsNothing() throws Exception {
    long pid = ProcessHandle.current().pid();
    driver("", "driver version=580.82.07", GPU, "process gpu=0 pid=" + pid + " used_mib=512");
    smi(512, 30, pid);
    tool("nvidia-ctk", "echo '{\"devices\": [{\"name\": \"all\"}, {\"name\": \"" + UUID + "\"}]}'");
    Result result = verifyFake();
    assertThat(result.status()).as(result.output()).isZero();
    assertThat(result.of("nvmlDeviceGetMemoryInfo_v2")).startsWith("ok: GPU 0 15360 MiB");
    assertThat(result.of("Register")).startsWith("ok: nvidia.com/gpu as tranche-gpu-");
    assertThat(result.of("ListAndWatch")).startsWith("ok: 2 replicas of 1 GPUs");
    assertThat(result.of("Allocate, envvar")).isEqualTo("ok: GPU-1a2b…");
    assertThat(result.of("Allocate, volume-mounts")).startsWith("ok: /var/run/nvidia-container");
    assertThat(result.of("Allocate, cdi-annotations")).startsWith("ok: k8s.device-plugin");
    assertThat(result.of("Allocate, cdi-cri")).startsWith("ok: k8s.device-plugin");
    assertThat(result.of("device nodes")).startsWith("ok: ");
    assertThat(result.of("memory used beside nvidia-smi"))
        .isEqualTo("ok: GPU-1a2b…: ours 512.0 MiB, nvidia-smi 512.0 MiB");
    assertThat(result.of("SM utilization beside nvidia-smi")).startsWith("ok: ");
    assertThat(result.of("registration")).startsWith("ok: ");
    assertThat(result.of("spec")).startsWith("ok: 1 devices, 1 mounts");
    assertThat(result.of("beside nvidia-ctk cdi generate")).startsWith("differs: ");
    assertThat(result.output())
        .contains("common device nodes, ours only: /dev/nvidia-uvm, /dev/nvidia-uvm-tools");
    assertThat(result.of("process to cgroup")).startsWith("ok: 1 processes, 1 of them visible");
    assertThat(result.of("beside nvidia-smi")).startsWith("ok: ");
    assertThat(result.output()).doesNotContain(UUID);
    assertThat(result.report().encode()).doesNotContain(UUID);
  }

  @Test
  void everyFunctionOfTheLibrary_isInTheReport_andSoAreMigDevices() throws Exception {
    driver(
        "",
        "driver version=580.82.07",
        GPU + " nvlink=1",
        "gpu index=1 uuid=GPU-2b2b2b2b-0000-1111-2222-333344445555 memory_mib=40536 minor=1 mig=1",
        "mig gpu=1 index=0 uuid=MIG-3c3c3c3c-0000-1111-2222-333344445555 profile=1g.5gb gi=7 ci=0"
            + " memory_mib=4864");
    Result result = verifyFake();
    String symbols = Shell.output("nm -D --defined-only " + library());
    assertThat(symbols.lines().map(line -> line.substring(line.lastIndexOf(' ') + 1)))
        .filteredOn(function -> !function.startsWith("nvmlGpm"))
        .isNotEmpty()
        .allSatisfy(
            function ->
                assertThat(result.of(function)).matches("(ok|not available): (?!missing).*"));
    assertThat(result.of("nvmlDeviceGetMigMode")).contains("GPU 1 MIG is on");
    assertThat(result.of("nvmlDeviceGetAttributes_v2")).startsWith("ok: GPU 1:0 ");
    assertThat(result.of("uuids")).isEqualTo("ok: NVML writes them MIG-3c3c…");
    assertThat(result.of("MIG devices, strategy mixed"))
        .startsWith("ok: 1 of 1 MIG devices")
        .contains("nvidia.com/mig-1g.5gb");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'' | ok: GPU-1a2b…: sm_active 80.0 %, sm_occupancy 20.0 %, tensor_active 0.5 %,"
            + " dram_active 91.0 %",
        "answer function=nvmlGpmSampleGet code=4 | not available: the plugin gets no values of GPM",
      })
  void gpm_isWhatThePluginGets(String fault, String said) throws Exception {
    driver(
        "",
        GPU + " gpm=1 gpm_graphics=98.5 gpm_sm=80 gpm_occupancy=20 gpm_tensor=0.5 gpm_dram=91",
        fault);
    assertThat(verifyFake().of("GPM")).isEqualTo(said);
  }

  @Test
  void memoryLimit_isSetReadBackAndCleared() throws Exception {
    Files.createFile(Files.createDirectory(folder.resolve("cgroup")).resolve("cgroup.controllers"));
    driver("", "driver version=615.71.09 limits=misc", GPU);
    Result result = verifyFake();
    assertThat(result.of("nvmlDeviceSetMemoryLimits_v1"))
        .startsWith("ok: GPU 0 took a limit and cleared it");
    assertThat(result.of("nvmlDeviceGetMemoryLimits_v1"))
        .startsWith("ok: GPU 0 reads back 256 MiB, soft 0 MiB, used 0 MiB");
    assertThat(libraries()).isDirectoryNotContaining("glob:**/gpus.state.limit.*");
    assertThat(folder.resolve("cgroup/tranche-verify-gpu")).doesNotExist();
  }

  @Test
  void memoryLimit_thatReadsBackAnother_differs() throws Exception {
    Files.createFile(Files.createDirectory(folder.resolve("cgroup")).resolve("cgroup.controllers"));
    driver("", "driver version=615.71.09 limits=half", GPU);
    assertThat(verifyFake().of("memory limit read back"))
        .isEqualTo(
            "differs: GPU 0 took a hard limit of 268435456 bytes and a soft limit of 0, and reads"
                + " back 134217728 and 0");
  }

  @Test
  void gpuWithoutMemoryInfo_isNotAvailableAndNoFailure() throws Exception {
    driver(
        "",
        GPU,
        "answer function=nvmlDeviceGetMemoryInfo_v2 code=3",
        "answer function=nvmlDeviceGetMemoryInfo code=3",
        "answer function=nvmlEventSetCreate code=3");
    smi(9000, 90, 1);
    Result result = verifyFake();
    assertThat(result.status()).as(result.output()).isZero();
    assertThat(result.of("nvmlDeviceGetMemoryInfo_v2"))
        .startsWith("not available: GPU 0 NOT_SUPPORTED");
    assertThat(result.of("the plugin's")).contains("NVML returns no memory of GPU-1a2b…");
    assertThat(result.of("memory used beside nvidia-smi")).startsWith("differs: ");
    assertThat(result.of("SM utilization beside nvidia-smi")).startsWith("differs: ");
    assertThat(result.of("registration")).startsWith("not available: NVML reports no errors of 1");
  }

  @Test
  void libraryThatLacksFunctions_failsByThoseThatAreNeeded() throws Exception {
    driver("nvmlDeviceGetTemperature nvmlDeviceGetMinorNumber", GPU);
    Result result = verifyFake();
    assertThat(result.status()).as(result.output()).isEqualTo(1);
    assertThat(result.of("nvmlDeviceGetTemperature")).startsWith("not available: missing symbol");
    assertThat(result.of("nvmlDeviceGetMinorNumber")).startsWith("failed: missing symbol");
    assertThat(result.of("Register")).startsWith("failed: ").contains("nvmlDeviceGetMinorNumber");
  }

  @Test
  void machineWithoutGpu_isToldInASentence() throws Exception {
    driver("", "driver version=580.82.07");
    Result result = verifyFake();
    assertThat(result.status()).as(result.output()).isEqualTo(1);
    assertThat(result.of("GPUs"))
        .startsWith("failed: NVML ")
        .endsWith("check that the nvidia kernel module is loaded and nvidia-smi lists a GPU");
  }

  private Result verifyMps(Map<String, String> variables) throws Exception {
    assumeThat(System.getProperty("user.name")).as("a control daemon needs root").isEqualTo("root");
    driver("", "driver version=580.82.07", GPU);
    make("fakecuda", libraries());
    make("fakemps", folder.resolve("tools"));
    return verify(variables, "--nvml=" + library(), "--driver-root=" + folder, "--mps");
  }

  @Test
  void mpsClient_keepsToItsLimits() throws Exception {
    Result result = verifyMps(Map.of());
    assertThat(result.status()).as(result.output()).isZero();
    assertThat(result.of("control daemon")).startsWith("ok: starts, answers 50");
    assertThat(result.of("memory limit of a client"))
        .startsWith("ok: with a limit of 2048 MiB, 256 MiB answer 0 and 3072 MiB answer 2");
    assertThat(result.of("thread limit of a client"))
        .isEqualTo("ok: with 50 %, a client sees 20 of 40 multiprocessors");
    assertThat(result.of("memory that a client is shown"))
        .startsWith("ok: ")
        .contains("1792 MiB are free beside its context, of 15360 MiB in total");
  }

  @Test
  void mpsClientBeyondItsLimits_isAFailure() throws Exception {
    Result result = verifyMps(Map.of("TRANCHE_FAKECUDA_UNLIMITED", "1"));
    assertThat(result.status()).as(result.output()).isEqualTo(1);
    assertThat(result.of("memory limit of a client"))
        .startsWith("failed: ")
        .contains("3072 MiB answer 0");
    assertThat(result.of("thread limit of a client")).startsWith("failed: ");
  }

  @Test
  void machineWithoutCuda_hasNoLimitsToCheck() throws Exception {
    Result result = verifyMps(Map.of("TRANCHE_FAKECUDA_INIT", "999"));
    assertThat(result.status()).as(result.output()).isZero();
    assertThat(result.of("memory limit of a client"))
        .isEqualTo("not available: no CUDA program runs here: cuInit 999");
  }

  @Test
  void report_hasItsFactsAndItsDigest() throws Exception {
    driver("", "driver version=580.82.07", GPU);
    tool("nvidia-ctk", "echo 'NVIDIA Container Toolkit CLI version 1.19.1'");
    JsonObject report = verifyFake().report();
    JsonObject facts = report.getJsonObject("facts");
    assertThat(facts.getString("GPUs")).isEqualTo("1 × Tesla T4");
    assertThat(facts.getString("driver")).isEqualTo("580.82.07");
    assertThat(facts.getString("toolkit")).isEqualTo("1.19.1");
    assertThat(facts.getString("kernel")).matches("\\d+(\\.\\d+)+");
    assertThat(report.getString("digest")).isEqualTo(Report.digest(report));
    facts.put("driver", "615.0");
    assertThat(report.getString("digest")).isNotEqualTo(Report.digest(report));
  }

  @Test
  void wrongCommandLines_areToldApart() throws Exception {
    assertThat(verify("--seconds=0").status()).isEqualTo(2);
    assertThat(verify("--sceonds=1").status()).isEqualTo(2);
    assertThat(verify("--nvml=/nowhere").status()).isEqualTo(2);
    Result help = verify("--help");
    assertThat(help.status()).isZero();
    assertThat(help.output()).contains("--driver-root").contains("Exit status: 0");
  }
}
