package dev.tranche.nodeplugin;

import static dev.tranche.nodeplugin.Eventually.eventually;
import static dev.tranche.nodeplugin.FakeNvml.gpu;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.kubelet.CDIDevice;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The process as the image starts it. */
class NodePluginMainIT {
  private static final Pattern METRICS_PORT = Pattern.compile("metrics on port (\\d+)");

  @TempDir Path folder;

  private Process start(String... flags) throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-Xmx32m",
                "-Xss256k",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                NodePluginMain.class.getName(),
                "--kubelet-socket=" + folder.resolve("kubelet.sock"),
                "--pod-resources-socket=" + folder.resolve("pod-resources.sock"),
                "--state-dir=" + folder.resolve("state"),
                "--metrics-address=127.0.0.1:0"));
    command.addAll(List.of(flags));
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(log().toFile())
        .start();
  }

  private Path log() {
    return folder.resolve("log");
  }

  private String logged() {
    try {
      return Files.readString(log());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void process_servesUntilItIsTerminated() throws Exception {
    FakeNvml nvml = FakeNvml.compiled();
    nvml.state(gpu(0, "sm=40 used_mib=100"));
    FakeKubelet kubelet = new FakeKubelet(folder);
    kubelet.start();
    Process process = start("--driver-root-ctr-path=" + nvml.root());
    try {
      eventually(this::logged, () -> kubelet.healthy() == 1);
      assertThat(kubelet.devices().getFirst().getID()).isEqualTo("GPU-0");
      eventually(this::logged, () -> METRICS_PORT.matcher(logged()).find());
      assertThat(get("/readyz").body()).isEqualTo("ok\n");
      assertThat(get("/metrics").body())
          .contains(
              "tranche_gpu_sm_utilization_ratio{UUID=\"GPU-0\",gpu=\"0\",modelName=\"Tesla T4\"} 0.4")
          .contains("tranche_node_replicas_healthy 1.0")
          .contains("tranche_node_registrations_total{outcome=\"registered\"} 1.0");
      process.destroy();
      assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
      assertThat(folder.resolve("nvidia-gpu.sock")).doesNotExist();
    } finally {
      process.destroyForcibly();
      kubelet.close();
    }
  }

  private HttpResponse<String> get(String path) throws Exception {
    Matcher port = METRICS_PORT.matcher(logged());
    assertThat(port.find()).isTrue();
    URI uri = URI.create("http://127.0.0.1:" + port.group(1) + path);
    try (HttpClient http = HttpClient.newHttpClient()) {
      return http.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
    }
  }

  @Test
  void nodeWithoutDriver_isReadyAndUnregistered_untilTheDriverAppears() throws Exception {
    FakeNvml nvml = FakeNvml.compiled();
    Path root = Files.createDirectory(folder.resolve("root"));
    FakeKubelet kubelet = new FakeKubelet(folder);
    kubelet.start();
    Process process = start("--driver-root-ctr-path=" + root, "--fail-on-init-error=false");
    try {
      eventually(this::logged, () -> METRICS_PORT.matcher(logged()).find());
      eventually(this::logged, () -> readyBecause("waits for a driver: libnvidia-ml.so.1 is"));
      Path library = Files.createDirectories(root.resolve("usr/lib64"));
      Files.copy(nvml.library(), library.resolve("libnvidia-ml.so.1"));
      eventually(this::logged, () -> readyBecause("waits for a driver: NVML cannot start"));
      assertThat(kubelet.registrations()).isZero();
      assertThat(folder.resolve("nvidia-gpu.sock")).doesNotExist();
      Files.writeString(library.resolve("gpus.state"), gpu(0, "") + "\n");
      eventually(this::logged, () -> kubelet.healthy() == 1);
      eventually(this::logged, () -> readyBecause("ok"));
      assertThat(logged().split("waiting for a driver", -1)).hasSize(3);
    } finally {
      process.destroyForcibly();
      kubelet.close();
    }
  }

  private boolean readyBecause(String sentence) {
    try {
      HttpResponse<String> answer = get("/readyz");
      return answer.statusCode() == 200 && answer.body().contains(sentence);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void restartWithAConfigThatDoesNotFit_goesOnWithTheOneBefore() throws Exception {
    FakeNvml nvml = FakeNvml.compiled();
    nvml.state(gpu(0, ""), gpu(1, ""));
    FakeKubelet kubelet = new FakeKubelet(folder);
    kubelet.start();
    Path config = folder.resolve("config.yaml");
    String[] flags = {"--driver-root-ctr-path=" + nvml.root(), "--config-file=" + config};
    Files.writeString(config, replicas(4));
    Process process = start(flags);
    try {
      eventually(this::logged, () -> kubelet.healthy() == 8);
      eventually(this::logged, () -> Files.exists(folder.resolve("state/config-last")));
      process.destroy();
      assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();

      // More than a node may have in all, so it can be read and does not fit.
      Files.writeString(config, replicas(6000));
      process = start(flags);
      eventually(this::logged, () -> logged().contains("ConfigRefused"));
      eventually(this::logged, () -> kubelet.registrations() == 2 && kubelet.healthy() == 8);
      assertThat(logged())
          .contains("the one before stays in use")
          .contains("12000 replicas together");

      Files.writeString(config, replicas(5));
      eventually(this::logged, () -> kubelet.healthy() == 10);
    } finally {
      process.destroyForcibly();
      kubelet.close();
    }
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
    FakeNvml nvml = FakeNvml.compiled();
    nvml.state(gpu(0, ""), A100, mig(0, "1g.5gb"), mig(1, "1g.5gb"), mig(2, "2g.10gb+me"));
    FakeKubelet kubelet = new FakeKubelet(folder);
    kubelet.start();
    Process process = start("--driver-root-ctr-path=" + nvml.root(), "--mig-strategy=mixed");
    try {
      eventually(
          this::logged,
          () ->
              kubelet.devices("nvidia.com/gpu").size() == 1
                  && kubelet.devices("nvidia.com/mig-1g.5gb").size() == 2
                  && kubelet.devices("nvidia.com/mig-2g.10gb.me").size() == 1);
      assertThat(
              kubelet
                  .allocate("nvidia.com/mig-1g.5gb", List.of("MIG-1"))
                  .getContainerResponses(0)
                  .getEnvsMap())
          .containsExactly(Map.entry("NVIDIA_VISIBLE_DEVICES", "MIG-1"));
      assertThat(folder.resolve("nvidia-mig-1g.5gb.sock")).exists();
    } finally {
      process.destroyForcibly();
      kubelet.close();
    }
  }

  @Test
  void singleMig_isTheOneResource_andIsGivenByCdi() throws Exception {
    FakeNvml nvml = FakeNvml.compiled();
    nvml.state(
        "gpu index=0 uuid=GPU-0 model=A100 memory_mib=40536 mig=1",
        "mig gpu=0 index=4 uuid=MIG-4 profile=1g.5gb gi=11 ci=0 memory_mib=4864");
    FakeKubelet kubelet = new FakeKubelet(folder);
    kubelet.start();
    Path cdi = folder.resolve("cdi");
    Process process =
        start(
            "--driver-root-ctr-path=" + nvml.root(),
            "--mig-strategy=single",
            "--device-list-strategy=cdi-cri",
            "--device-id-strategy=index",
            "--cdi-root=" + cdi);
    try {
      eventually(this::logged, () -> kubelet.devices().size() == 1);
      assertThat(kubelet.devices().getFirst().getID()).isEqualTo("MIG-4");
      assertThat(kubelet.allocate(List.of("MIG-4")).getContainerResponses(0).getCdiDevicesList())
          .extracting(CDIDevice::getName)
          .containsExactly("k8s.device-plugin.nvidia.com/gpu=0:4");
      assertThat(Files.readString(cdi.resolve("k8s.device-plugin.nvidia.com-gpu.json")))
          .contains("\"name\":\"0:4\"")
          .contains("{\"path\":\"/dev/nvidia0\"}");
    } finally {
      process.destroyForcibly();
      kubelet.close();
    }
  }

  @Test
  void singleMig_ofTwoProfiles_advertisesNothing_andSaysWhy() throws Exception {
    FakeNvml nvml = FakeNvml.compiled();
    nvml.state(
        "gpu index=0 uuid=GPU-0 model=A100 memory_mib=40536 mig=1",
        "mig gpu=0 index=0 uuid=MIG-0 profile=1g.5gb gi=7 ci=0 memory_mib=4864",
        "mig gpu=0 index=1 uuid=MIG-1 profile=2g.10gb gi=8 ci=0 memory_mib=9856");
    FakeKubelet kubelet = new FakeKubelet(folder);
    kubelet.start();
    Process process = start("--driver-root-ctr-path=" + nvml.root(), "--mig-strategy=single");
    try {
      eventually(
          this::logged,
          () -> logged().contains("more than one MIG device type present on node; give all"));
      assertThat(kubelet.registrations()).isZero();
    } finally {
      process.destroyForcibly();
      kubelet.close();
    }
  }

  @Test
  void nearGpus_arePreferredTogether() throws Exception {
    FakeNvml nvml = FakeNvml.compiled();
    nvml.state(
        gpu(0, "nvlink=3,3"), gpu(1, "nvlink=2,2"), gpu(2, "nvlink=1,1"), gpu(3, "nvlink=0,0"));
    FakeKubelet kubelet = new FakeKubelet(folder);
    kubelet.start();
    Process process = start("--driver-root-ctr-path=" + nvml.root());
    try {
      eventually(this::logged, () -> kubelet.healthy() == 4);
      assertThat(kubelet.prefer(kubelet.free(), 2)).containsExactly("GPU-0", "GPU-3");
      assertThat(kubelet.prefer(List.of("GPU-2", "GPU-1", "GPU-3"), 2))
          .containsExactly("GPU-1", "GPU-2");
    } finally {
      process.destroyForcibly();
      kubelet.close();
    }
  }

  @Test
  void unwritableCdiFolder_advertisesNothing_andSaysSo() throws Exception {
    FakeNvml nvml = FakeNvml.compiled();
    nvml.state(gpu(0, ""));
    FakeKubelet kubelet = new FakeKubelet(folder);
    kubelet.start();
    Path cdi = Files.createFile(folder.resolve("cdi"));
    Process process =
        start(
            "--driver-root-ctr-path=" + nvml.root(),
            "--device-list-strategy=cdi-annotations",
            "--cdi-root=" + cdi);
    try {
      eventually(this::logged, () -> logged().contains("CDI specs cannot be written to " + cdi));
      assertThat(kubelet.registrations()).isZero();
      Files.delete(cdi);
      eventually(this::logged, () -> kubelet.healthy() == 1);
    } finally {
      process.destroyForcibly();
      kubelet.close();
    }
  }

  @Test
  void driverWithoutGpu_isReadyWithoutAKubelet() throws Exception {
    FakeNvml nvml = FakeNvml.compiled();
    nvml.state("");
    Process process = start("--driver-root-ctr-path=" + nvml.root());
    try {
      eventually(this::logged, () -> METRICS_PORT.matcher(logged()).find());
      eventually(this::logged, () -> readyBecause("no usable GPU"));
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void missingDriver_endsTheProcessWithAdvice() throws Exception {
    Process process = start("--driver-root-ctr-path=" + folder);
    assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).isEqualTo(1);
    assertThat(logged())
        .contains("libnvidia-ml.so.1")
        .contains("--driver-root-ctr-path")
        .contains("runtimeClassName=nvidia")
        .contains("nvidiaDriverRoot");
  }

  @Test
  void badFlags_areAllTold() throws Exception {
    Process process = start("--sample-interval=1h", "--nonsense=1");
    assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).isEqualTo(2);
    assertThat(logged()).contains("SAMPLE_INTERVAL").contains("--nonsense");
  }

  @Test
  void badConfig_isToldWithoutAnException() throws Exception {
    Path config = Files.writeString(folder.resolve("bad.yaml"), "sharing: nonsense\n");
    Process process = start("--config-file=" + config);
    assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).isEqualTo(2);
    assertThat(logged()).contains("sharing must be a map").doesNotContain("IllegalThreadState");
  }

  @Test
  void mixedMig_withoutMigDevices_isReady() throws Exception {
    FakeNvml nvml = FakeNvml.compiled();
    nvml.state(gpu(0, "mig=1"));
    Process process = start("--driver-root-ctr-path=" + nvml.root(), "--mig-strategy=mixed");
    try {
      eventually(this::logged, () -> METRICS_PORT.matcher(logged()).find());
      eventually(this::logged, () -> readyBecause("nothing to advertise"));
    } finally {
      process.destroyForcibly();
    }
  }
}
