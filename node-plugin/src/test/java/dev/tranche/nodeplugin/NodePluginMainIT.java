package dev.tranche.nodeplugin;

import static dev.tranche.nodeplugin.FakeNvml.gpu;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.kubelet.CDIDevice;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The process as the image starts it. */
class NodePluginMainIT {
  @TempDir Path folder;

  private final List<AutoCloseable> started = new ArrayList<>();

  @SuppressWarnings("NullAway.Init")
  private FakeNvml nvml;

  @BeforeEach
  void compile() throws Exception {
    nvml = FakeNvml.compiled();
  }

  @AfterEach
  void end() throws Exception {
    for (AutoCloseable each : started.reversed()) {
      each.close();
    }
  }

  private PluginProcess start(String... flags) throws IOException {
    return start(List.of(), flags);
  }

  /**
   * @param by the program that starts it
   */
  private PluginProcess start(List<String> by, String... flags) throws IOException {
    List<String> args =
        new ArrayList<>(
            List.of(
                "--kubelet-socket=" + folder.resolve("kubelet.sock"),
                "--pod-resources-socket=" + folder.resolve("pod-resources.sock"),
                "--state-dir=" + folder.resolve("state")));
    args.addAll(List.of(flags));
    var process = PluginProcess.start(by, folder.resolve("log"), args);
    started.add(process);
    return process;
  }

  private PluginProcess startWithDriver(String... flags) throws IOException {
    return start(
        Stream.concat(Stream.of("--driver-root-ctr-path=" + nvml.root()), Stream.of(flags))
            .toArray(String[]::new));
  }

  private FakeKubelet kubelet() throws Exception {
    var kubelet = new FakeKubelet(folder);
    started.add(kubelet);
    kubelet.start();
    return kubelet;
  }

  @Test
  void process_servesUntilItIsTerminated() throws Exception {
    nvml.state(gpu(0, "sm=40 used_mib=100"));
    FakeKubelet kubelet = kubelet();
    PluginProcess process = startWithDriver();
    process.await(() -> kubelet.healthy() == 1);
    assertThat(kubelet.devices().getFirst().getID()).isEqualTo("GPU-0");
    process.await(process::serves);
    assertThat(process.get("/readyz").body()).isEqualTo("ok\n");
    assertThat(process.get("/metrics").body())
        .contains(
            "tranche_gpu_sm_utilization_ratio{UUID=\"GPU-0\",gpu=\"0\",modelName=\"Tesla T4\"} 0.4")
        .contains("tranche_node_replicas_healthy 1.0")
        .contains("tranche_node_registrations_total{outcome=\"registered\"} 1.0");
    process.terminate(10);
    assertThat(folder.resolve(kubelet.endpoint("nvidia.com/gpu"))).doesNotExist();
  }

  @Test
  void shares_areLimited_whereLimitsAreRequired() throws Exception {
    nvml.state("driver version=615.71.09 limits=dmem", gpu(0, ""), gpu(1, ""));
    FakeKubelet kubelet = kubelet();
    Path config = Files.writeString(folder.resolve("config.yaml"), replicas(4));
    Path cgroups = Files.createDirectory(folder.resolve("cgroup"));
    Files.createFile(cgroups.resolve("cgroup.controllers"));
    PluginProcess process =
        startWithDriver(
            "--config-file=" + config, "--memory-limits=required", "--cgroup-ctr-path=" + cgroups);
    process.await(() -> kubelet.healthy() == 8);
    assertThat(kubelet.allocate(List.of("GPU-0::1")).getContainerResponses(0).getEnvsMap())
        .containsEntry("NVIDIA_GPU_MEMORY_LIMIT", "3727")
        .containsEntry("NVIDIA_GPU_MEMORY_REQUEST", "0");
    nvml.state("driver version=580.1", gpu(0, ""), gpu(1, ""));
    process.await(() -> kubelet.healthy() == 0);
    process.await(process::serves);
    process.await(
        () ->
            process
                .get("/metrics")
                .body()
                .contains("tranche_node_problems{reason=\"GpuMemoryNotLimited\"} 2.0"));
    assertThat(process.logged()).contains("install a driver of the branch R615 or newer");
  }

  @Test
  void foldersThatMayNotBeEntered_areNotTakenForAbsent() throws Exception {
    nvml.state(gpu(0, ""));
    Path closed = closed();
    PluginProcess kubelet =
        startUnprivileged(
            "--kubelet-socket=" + closed.resolve("kubelet.sock"),
            "--driver-root-ctr-path=" + nvml.root());
    String denied = "/kubelet.sock cannot be accessed: permission denied. Run";
    kubelet.await(kubelet::serves);
    kubelet.await(() -> kubelet.get("/readyz").body().contains(closed + denied));
    kubelet.close();
    PluginProcess driver =
        startUnprivileged("--driver-root-ctr-path=" + closed, "--fail-on-init-error=false");
    driver.await(driver::serves);
    driver.await(
        () -> readyBecause(driver, "waits for a driver: " + closed + "/usr/lib64/libnvidia-ml.so"));
    assertThat(driver.get("/readyz").body()).contains("cannot be accessed: permission denied");
  }

  /** Root enters a folder of somebody else only by a capability, which the chart drops. */
  private PluginProcess startUnprivileged(String... flags) throws IOException {
    List<String> by =
        uid() == 0
            ? List.of("setpriv", "--bounding-set=-dac_override,-dac_read_search")
            : List.of();
    return start(by, flags);
  }

  private Path closed() throws IOException {
    Path closed = Files.createDirectory(folder.resolve("closed"));
    Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("---------"));
    if (uid() == 0) {
      Files.setAttribute(closed, "unix:uid", 65532);
    }
    return closed;
  }

  private static int uid() throws IOException {
    return (int) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
  }

  @Test
  @Tag("slow")
  void nodeWithoutDriver_isReadyAndUnregistered_untilTheDriverAppears() throws Exception {
    Path root = Files.createDirectory(folder.resolve("root"));
    FakeKubelet kubelet = kubelet();
    PluginProcess process = start("--driver-root-ctr-path=" + root, "--fail-on-init-error=false");
    process.await(process::serves);
    process.await(() -> readyBecause(process, "waits for a driver: libnvidia-ml.so.1 is"));
    Path library = Files.createDirectories(root.resolve("usr/lib64"));
    Files.copy(nvml.library(), library.resolve("libnvidia-ml.so.1"));
    process.await(() -> readyBecause(process, "waits for a driver: NVML cannot start"));
    assertThat(kubelet.registrations()).isZero();
    assertThat(folder).isDirectoryNotContaining("glob:**/tranche-*.sock");
    Files.writeString(library.resolve("gpus.state"), gpu(0, "") + "\n");
    process.await(() -> kubelet.healthy() == 1);
    process.await(() -> readyBecause(process, "ok"));
    assertThat(process.logged().split("waiting for a driver", -1)).hasSize(3);
  }

  private static boolean readyBecause(PluginProcess process, String sentence) {
    HttpResponse<String> answer = process.get("/readyz");
    return answer.statusCode() == 200 && answer.body().contains(sentence);
  }

  @Test
  @Tag("slow")
  void restartWithAConfigThatDoesNotFit_goesOnWithTheOneBefore() throws Exception {
    nvml.state(gpu(0, ""), gpu(1, ""));
    FakeKubelet kubelet = kubelet();
    Path config = folder.resolve("config.yaml");
    String[] flags = {"--driver-root-ctr-path=" + nvml.root(), "--config-file=" + config};
    Files.writeString(config, replicas(4));
    PluginProcess process = start(flags);
    process.await(() -> kubelet.healthy() == 8);
    process.await(() -> Files.exists(folder.resolve("state/config-last")));
    process.terminate(10);

    // More than a node may have in all, so it can be read and does not fit.
    Files.writeString(config, replicas(6000));
    PluginProcess next = start(flags);
    next.await(() -> next.logged().contains("ConfigRefused"));
    next.await(() -> kubelet.registrations() == 2 && kubelet.healthy() == 8);
    assertThat(next.logged())
        .contains("the previous one stays in use")
        .contains("12000 replicas together");

    Files.writeString(config, replicas(5));
    next.await(() -> kubelet.healthy() == 10);
  }

  private static String replicas(int each) {
    return "sharing: {timeSlicing: {resources: [{name: gpu, replicas: %d}]}}".formatted(each);
  }

  private static final String A100 =
      "gpu index=1 uuid=GPU-1 model=A100 memory_mib=40536 minor=3 mig=1";

  private static String mig(int index, String profile) {
    return "mig gpu=1 index=%d uuid=MIG-%d profile=%s gi=%d ci=0 memory_mib=4864"
        .formatted(index, index, profile, index + 7);
  }

  @Test
  void mixedMig_isAResourceForEachProfile_besideWholeGpus() throws Exception {
    nvml.state(gpu(0, ""), A100, mig(0, "1g.5gb"), mig(1, "1g.5gb"), mig(2, "2g.10gb+me"));
    FakeKubelet kubelet = kubelet();
    PluginProcess process = startWithDriver("--mig-strategy=mixed");
    process.await(
        () ->
            kubelet.devices("nvidia.com/gpu").size() == 1
                && kubelet.devices("nvidia.com/mig-1g.5gb").size() == 2
                && kubelet.devices("nvidia.com/mig-2g.10gb.me").size() == 1);
    assertThat(
            kubelet
                .allocate("nvidia.com/mig-1g.5gb", List.of("MIG-1"))
                .getContainerResponses(0)
                .getEnvsMap())
        .containsOnly(
            Map.entry("NVIDIA_VISIBLE_DEVICES", "MIG-1"),
            Map.entry("TRANCHE_GPU_FRACTION", "1"),
            Map.entry("TRANCHE_GPU_MEMORY_MIB", "4864"));
    assertThat(folder.resolve(kubelet.endpoint("nvidia.com/mig-1g.5gb"))).exists();
  }

  @Test
  void singleMig_isTheOneResource_andIsGivenByCdi() throws Exception {
    nvml.state(
        "gpu index=0 uuid=GPU-0 model=A100 memory_mib=40536 mig=1",
        "mig gpu=0 index=4 uuid=MIG-4 profile=1g.5gb gi=11 ci=0 memory_mib=4864");
    nvml.libcuda("580.82.07");
    FakeKubelet kubelet = kubelet();
    Path cdi = folder.resolve("cdi");
    PluginProcess process =
        startWithDriver(
            "--mig-strategy=single",
            "--device-list-strategy=cdi-cri",
            "--device-id-strategy=index",
            "--cdi-root=" + cdi);
    process.await(() -> kubelet.devices().size() == 1);
    assertThat(kubelet.devices().getFirst().getID()).isEqualTo("MIG-4");
    assertThat(kubelet.allocate(List.of("MIG-4")).getContainerResponses(0).getCdiDevicesList())
        .extracting(CDIDevice::getName)
        .containsExactly("k8s.device-plugin.nvidia.com/gpu=0:4");
    assertThat(Files.readString(cdi.resolve("k8s.device-plugin.nvidia.com-gpu.json")))
        .contains("\"name\":\"0:4\"")
        .contains("{\"path\":\"/dev/nvidia0\"}");
  }

  @Test
  void singleMig_ofTwoProfiles_advertisesNothing_andSaysWhy() throws Exception {
    nvml.state(
        "gpu index=0 uuid=GPU-0 model=A100 memory_mib=40536 mig=1",
        "mig gpu=0 index=0 uuid=MIG-0 profile=1g.5gb gi=7 ci=0 memory_mib=4864",
        "mig gpu=0 index=1 uuid=MIG-1 profile=2g.10gb gi=8 ci=0 memory_mib=9856");
    FakeKubelet kubelet = kubelet();
    PluginProcess process = startWithDriver("--mig-strategy=single");
    process.await(
        () -> process.logged().contains("more than one MIG device type present on node; give all"));
    assertThat(kubelet.registrations()).isZero();
  }

  @Test
  void nearGpus_arePreferredTogether() throws Exception {
    nvml.state(
        gpu(0, "nvlink=3,3"), gpu(1, "nvlink=2,2"), gpu(2, "nvlink=1,1"), gpu(3, "nvlink=0,0"));
    FakeKubelet kubelet = kubelet();
    PluginProcess process = startWithDriver();
    process.await(() -> kubelet.healthy() == 4);
    assertThat(kubelet.prefer(kubelet.free(), 2)).containsExactly("GPU-0", "GPU-3");
    assertThat(kubelet.prefer(List.of("GPU-2", "GPU-1", "GPU-3"), 2))
        .containsExactly("GPU-1", "GPU-2");
  }

  @Test
  void unwritableCdiFolder_advertisesNothing_andSaysSo() throws Exception {
    nvml.state(gpu(0, ""));
    nvml.libcuda("580.82.07");
    FakeKubelet kubelet = kubelet();
    Path cdi = Files.createFile(folder.resolve("cdi"));
    PluginProcess process =
        startWithDriver("--device-list-strategy=cdi-annotations", "--cdi-root=" + cdi);
    process.await(() -> process.logged().contains(cdi + " cannot be written"));
    assertThat(kubelet.registrations()).isZero();
    Files.delete(cdi);
    process.await(() -> kubelet.healthy() == 1);
  }

  @Test
  void driverWithoutLibcuda_offersNoGpuByCdi_andSaysSo_untilItIsThere() throws Exception {
    nvml.state("driver version=570.1.2", gpu(0, ""));
    nvml.libcuda("580.82.07");
    FakeKubelet kubelet = kubelet();
    Path cdi = folder.resolve("cdi");
    PluginProcess process = startWithDriver("--device-list-strategy=cdi-cri", "--cdi-root=" + cdi);
    process.await(
        () -> process.logged().contains("libcuda.so.570.1.2, the library of the loaded kernel"));
    assertThat(kubelet.healthy()).isZero();
    assertThat(cdi.resolve("k8s.device-plugin.nvidia.com-gpu.json")).doesNotExist();
    nvml.libcuda("570.1.2");
    process.await(() -> kubelet.healthy() == 1);
  }

  @Test
  void driverWithoutGpu_isReadyWithoutAKubelet() throws Exception {
    nvml.state("");
    PluginProcess process = startWithDriver();
    process.await(process::serves);
    process.await(() -> readyBecause(process, "no usable GPU"));
  }

  @Test
  void missingDriver_endsTheProcessWithAdvice() throws Exception {
    PluginProcess process = start("--driver-root-ctr-path=" + folder);
    assertThat(process.status()).isEqualTo(1);
    assertThat(process.logged())
        .contains("libnvidia-ml.so.1")
        .contains("--driver-root-ctr-path")
        .contains("runtimeClassName=nvidia")
        .contains("nvidiaDriverRoot");
  }

  @Test
  void badFlags_areAllTold() throws Exception {
    PluginProcess process = start("--sample-interval=1h", "--nonsense=1");
    assertThat(process.status()).isEqualTo(2);
    assertThat(process.logged()).contains("SAMPLE_INTERVAL").contains("--nonsense");
  }

  @Test
  void badConfig_isToldWithoutAnException() throws Exception {
    Path config = Files.writeString(folder.resolve("bad.yaml"), "sharing: nonsense\n");
    PluginProcess process = start("--config-file=" + config);
    assertThat(process.status()).isEqualTo(2);
    assertThat(process.logged())
        .contains("sharing must be a map")
        .doesNotContain("IllegalThreadState");
  }

  @Test
  void mixedMig_withoutMigDevices_isReady() throws Exception {
    nvml.state(gpu(0, "mig=1"));
    PluginProcess process = startWithDriver("--mig-strategy=mixed");
    process.await(process::serves);
    process.await(() -> readyBecause(process, "nothing to advertise"));
  }
}
