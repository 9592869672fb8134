package dev.tranche.nodeplugin;

import static dev.tranche.nodeplugin.FakeNvml.gpu;
import static dev.tranche.process.Until.until;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.Until;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The control daemons' process, alone and beside the plugin's, as the image starts them. */
@Tag("slow")
@SuppressWarnings("NullAway.Init")
class MpsIT {
  private static final int PROHIBITED = 2;
  private static final int EXCLUSIVE_PROCESS = 3;

  @TempDir Path folder;
  private FakeNvml nvml;
  private FakeMps mps;

  /** By the name of its log. */
  private final Map<String, PluginProcess> started = new HashMap<>();

  @BeforeEach
  void compile() throws Exception {
    nvml = FakeNvml.compiled();
    nvml.state(gpu(0, ""));
    nvml.computeMode(0, 0);
    mps = FakeMps.compiled(folder.resolve("mps"));
    Files.createDirectory(folder.resolve("state"));
    plan("nvidia.com/gpu GPU-0 16106127360 10 true true\n");
  }

  @AfterEach
  void end() {
    started.values().forEach(PluginProcess::close);
    mps.kill();
  }

  /** As the plugin plans it. */
  private void plan(String lines) throws IOException {
    Path fresh = folder.resolve("state/fresh");
    Files.writeString(fresh, lines);
    Files.move(fresh, folder.resolve("state/mps-plan"), StandardCopyOption.ATOMIC_MOVE);
  }

  private PluginProcess daemon(String... flags) throws IOException {
    List<String> all = new ArrayList<>(List.of("mps-control-daemon"));
    all.addAll(List.of(flags));
    all.add("--mps-control-program=" + mps.program());
    return start("daemon.log", all);
  }

  private PluginProcess plugin(FakeKubelet kubelet) throws IOException {
    return start(
        "plugin.log",
        List.of(
            "--kubelet-socket=" + kubelet.kubeletSocket(),
            "--pod-resources-socket=" + kubelet.podResourcesSocket(),
            "--node-name=gpu-node"));
  }

  private PluginProcess start(String log, List<String> args) throws IOException {
    List<String> all = new ArrayList<>(args);
    all.addAll(
        List.of(
            "--driver-root-ctr-path=" + nvml.root(),
            "--config-dir=" + folder.resolve("config"),
            "--state-dir=" + folder.resolve("state"),
            "--nvidia-compatible=extended",
            "--mps-root=/run/nvidia/mps",
            "--mps-root-ctr-path=" + mps.root()));
    var process = PluginProcess.start(folder.resolve(log), all);
    started.put(log, process);
    return process;
  }

  private void await(String log, Until.Condition<RuntimeException> condition) {
    requireNonNull(started.get(log)).await(condition);
  }

  private String logged(String log) {
    return requireNonNull(started.get(log)).logged();
  }

  private String get(String log, String path) {
    PluginProcess process = requireNonNull(started.get(log));
    process.await(process::serves);
    HttpResponse<String> answer = process.get(path);
    return answer.statusCode() + " " + answer.body();
  }

  private void ready() {
    until(() -> logged("daemon.log") + mps.commands(), mps::ready);
  }

  @Test
  void daemon_isToldItsLimits_andLeavesNothingBehind() throws Exception {
    nvml.computeMode(0, PROHIBITED);
    PluginProcess process = daemon();
    ready();
    assertThat(mps.commands().subList(0, 3))
        .containsExactly(
            "start all",
            "set_default_device_pinned_mem_limit GPU-0 1536M",
            "set_default_active_thread_percentage 10");
    assertThat(nvml.computeMode(0)).isEqualTo(EXCLUSIVE_PROCESS);
    until("ready", () -> get("daemon.log", "/readyz").equals("200 ok\n"));
    long pid = mps.pid();
    assertThat(FakeMps.running(pid)).isTrue();
    assertThat(FakeMps.running(mps.serverPid())).isTrue();
    process.terminate(30);
    assertThat(mps.commands()).endsWith("quit");
    assertThat(FakeMps.running(pid)).isFalse();
    assertThat(FakeMps.running(mps.serverPid())).isFalse();
    assertThat(nvml.computeMode(0)).isEqualTo(PROHIBITED);
    assertThat(mps.ready()).isFalse();
    assertThat(mps.root().resolve(".status")).doesNotExist();
  }

  @Test
  void killedDaemon_isStartedAgainWithItsLimits() throws Exception {
    daemon();
    ready();
    mps.kill();
    await("daemon.log", () -> mps.commandCount("start all") == 2);
    ready();
    assertThat(mps.commandCount("set_default_device_pinned_mem_limit GPU-0 1536M")).isEqualTo(2);
    assertThat(get("daemon.log", "/metrics"))
        .contains("tranche_mps_daemon_starts_total 2.0")
        .contains("tranche_mps_failures_total 1.0");
  }

  @Test
  void serverOfAKilledDaemon_isEndedBeforeTheNextOneServes() throws Exception {
    daemon();
    ready();
    long server = mps.serverPid();
    mps.killControl();
    await("daemon.log", () -> mps.commandCount("start all") == 2);
    ready();
    assertThat(FakeMps.running(server)).isFalse();
  }

  @Test
  void anotherPlan_startsTheDaemonAnew() throws Exception {
    daemon();
    ready();
    plan("nvidia.com/gpu GPU-0 16106127360 5 true true\n");
    String limit = "set_default_device_pinned_mem_limit GPU-0 3072M";
    await("daemon.log", () -> mps.commandCount(limit) == 1);
    ready();
    assertThat(mps.commandCount("quit")).isEqualTo(1);
  }

  @Test
  void newResource_leavesTheDaemonOfTheOtherOne() throws Exception {
    nvml.state(gpu(0, ""), gpu(1, ""));
    String one = "nvidia.com/gpu GPU-0 16106127360 10 true false\n";
    plan(one);
    PluginProcess process = daemon();
    ready();
    long pid = mps.pid();
    plan(one + "nvidia.com/other GPU-1 16106127360 2 true false\n");
    Path other = mps.root().resolve("nvidia.com/other/log/told");
    await("daemon.log", () -> Files.exists(other));
    ready();
    assertThat(mps.pid()).isEqualTo(pid);
    assertThat(mps.commands()).doesNotContain("quit");
    process.terminate(30);
    assertThat(other).content().endsWith("quit\n");
    assertThat(nvml.computeMode(0)).isZero();
  }

  @Test
  void killedProcess_isPutRightByTheNext() throws Exception {
    nvml.computeMode(0, PROHIBITED);
    PluginProcess first = daemon();
    ready();
    first.close();
    assertThat(nvml.computeMode(0)).isEqualTo(EXCLUSIVE_PROCESS);
    PluginProcess second = daemon();
    await("daemon.log", () -> mps.commandCount("start all") == 2);
    await("daemon.log", () -> logged("daemon.log").contains("serving [GPU-0"));
    second.terminate(30);
    assertThat(nvml.computeMode(0)).isEqualTo(PROHIBITED);
  }

  @Test
  void missingProgram_isNamedWithWhereItComesFrom() throws Exception {
    Files.move(
        mps.program(), mps.program().resolveSibling("moved"), StandardCopyOption.REPLACE_EXISTING);
    try {
      daemon();
      await(
          "daemon.log", () -> get("daemon.log", "/readyz").contains("NVIDIA_DRIVER_CAPABILITIES"));
      assertThat(get("daemon.log", "/readyz")).startsWith("503 ");
      assertThat(mps.ready()).isFalse();
    } finally {
      Files.move(mps.program().resolveSibling("moved"), mps.program());
    }
  }

  @Test
  void planWithoutMps_hasNoDaemon() throws Exception {
    plan("");
    daemon();
    await("daemon.log", () -> get("daemon.log", "/readyz").contains("shares nothing by MPS"));
    assertThat(mps.commands()).isEmpty();
    assertThat(nvml.computeMode(0)).isZero();
  }

  private void configOfTenReplicas() throws IOException {
    Files.writeString(
        Files.createDirectory(folder.resolve("config")).resolve("any"),
        """
        version: v1
        sharing:
          mps:
            resources:
              - name: nvidia.com/gpu
                replicas: 10
        """);
  }

  private FakeKubelet kubelet() throws Exception {
    FakeKubelet kubelet = new FakeKubelet(Files.createDirectory(folder.resolve("dp")));
    kubelet.start();
    return kubelet;
  }

  @Test
  void pluginThatStartsWhileAGpuIsLost_leavesTheDaemonToTheOthers() throws Exception {
    nvml.state(gpu(0, ""), gpu(1, ""));
    configOfTenReplicas();
    try (FakeKubelet kubelet = kubelet()) {
      daemon();
      PluginProcess first = plugin(kubelet);
      await("plugin.log", () -> kubelet.healthy() == 20);
      String planned = Files.readString(folder.resolve("state/mps-plan"));
      assertThat(planned).hasLineCount(2);
      long pid = mps.pid();
      long quits = mps.commandCount("quit");
      first.terminate(30);
      nvml.state(gpu(0, ""), gpu(1, "lost=1"));
      plugin(kubelet);
      await("plugin.log", () -> kubelet.devices().size() == 10 && kubelet.healthy() == 10);
      assertThat(get("plugin.log", "/readyz")).isEqualTo("200 ok\n");
      assertThat(folder.resolve("state/mps-plan")).hasContent(planned);
      assertThat(mps.pid()).isEqualTo(pid);
      assertThat(mps.commandCount("quit")).isEqualTo(quits);
    }
  }

  @Test
  void plugin_advertisesWholeGpusUntilTheDaemonServes() throws Exception {
    configOfTenReplicas();
    try (FakeKubelet kubelet = kubelet()) {
      plugin(kubelet);
      await("plugin.log", () -> kubelet.healthy() == 1);
      assertThat(kubelet.devices().getFirst().getID()).isEqualTo("GPU-0");
      assertThat(get("plugin.log", "/readyz"))
          .startsWith("200 ")
          .contains("kubectl label node gpu-node nvidia.com/mps.capable=true");
      assertThat(get("plugin.log", "/metrics"))
          .contains("tranche_node_mps_daemon_missing 1.0")
          .contains("tranche_node_events_total{reason=\"MpsDaemonMissing\"} 1.0");
      PluginProcess daemon = daemon();
      await("plugin.log", () -> kubelet.healthy() == 10);
      assertThat(get("plugin.log", "/readyz")).isEqualTo("200 ok\n");
      assertThat(kubelet.allocate(List.of("GPU-0::3")).getContainerResponses(0).getEnvsMap())
          .containsOnly(
              Map.entry("NVIDIA_VISIBLE_DEVICES", "GPU-0"),
              Map.entry("TRANCHE_GPU_FRACTION", "0.1"),
              Map.entry("TRANCHE_GPU_MEMORY_MIB", "1491"),
              Map.entry("CUDA_MPS_PIPE_DIRECTORY", "/mps/nvidia.com/gpu/pipe"),
              Map.entry("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "10"),
              Map.entry("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "GPU-0=1536M"));
      daemon.terminate(30);
      await("plugin.log", () -> kubelet.healthy() == 0);
      assertThat(kubelet.devices()).hasSize(10);
      assertThat(get("plugin.log", "/readyz")).startsWith("503 ").contains("kubectl label node");
    }
  }
}
