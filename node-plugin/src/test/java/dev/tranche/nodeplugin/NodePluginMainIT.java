package dev.tranche.nodeplugin;

import static dev.tranche.nodeplugin.Eventually.eventually;
import static dev.tranche.nodeplugin.FakeNvml.gpu;
import static org.assertj.core.api.Assertions.assertThat;

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
}
