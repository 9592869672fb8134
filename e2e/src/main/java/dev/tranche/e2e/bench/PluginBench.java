package dev.tranche.e2e.bench;

import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.install.Artifacts;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * The node plugin alone in its image: from the process's start to its registration, and its memory
 * when idle, with 8 GPUs of 100 replicas each.
 */
final class PluginBench {
  private static final int GPUS = 8;
  private static final String CONFIG =
      """
      version: v1
      sharing:
        timeSlicing:
          resources:
            - name: nvidia.com/gpu
              replicas: 100
      """;
  private static final Duration IDLE = Duration.ofSeconds(10);

  private PluginBench() {}

  static List<Figure> run(Artifacts artifacts, boolean quick) throws Exception {
    int runs = quick ? 3 : 11;
    double[] startMs = new double[runs];
    double[] pssMb = new double[runs];
    for (int i = 0; i < runs; i++) {
      Path folder = Files.createTempDirectory("tranche-bench");
      try (var kubelet =
          new FakeKubelet(
              Files.createDirectories(folder.resolve("device-plugins")).resolve("kubelet.sock"))) {
        String container = start(artifacts, folder);
        try {
          Instant registered = kubelet.awaitRegistration();
          if (registered == null) {
            throw new IllegalStateException(docker("logs", container));
          }
          startMs[i] = Duration.between(startedAt(container), registered).toNanos() / 1e6;
          Thread.sleep(IDLE);
          pssMb[i] = pssMb(container);
        } finally {
          docker("rm", "-f", container);
        }
      }
    }
    return List.of(
        new Figure("plugin.start_ms", Figure.median(startMs), "ms"),
        new Figure("plugin.pss_mb", Figure.median(pssMb), "MB"));
  }

  private static String start(Artifacts artifacts, Path folder) throws Exception {
    Path driver = folder.resolve("driver");
    NodeGpus.create(driver, artifacts.fakeNvml(), "bench", Collections.nCopies(GPUS, Model.T4));
    Path config = Files.writeString(folder.resolve("config.yaml"), CONFIG);
    Path podResources = Files.createDirectories(folder.resolve("pod-resources"));
    return docker(
        "run",
        "-d",
        "--user=0",
        "--read-only",
        "--tmpfs=/tmp",
        "--tmpfs=/var/lib/tranche",
        "--env=NODE_NAME=bench",
        "--env=CONFIG_FILE=/config.yaml",
        "--volume=" + config + ":/config.yaml:ro",
        "--volume=" + folder.resolve("device-plugins") + ":/var/lib/kubelet/device-plugins",
        "--volume=" + podResources + ":/var/lib/kubelet/pod-resources",
        "--volume=" + driver + ":/driver-root:ro",
        artifacts.image(),
        "/opt/tranche/runtime/bin/java",
        "@/opt/tranche/etc/node-plugin.args");
  }

  private static Instant startedAt(String container) throws Exception {
    return Instant.parse(docker("inspect", "--format={{.State.StartedAt}}", container));
  }

  /** The process's proportional share of the memory that it maps. */
  private static double pssMb(String container) throws Exception {
    String pid = docker("inspect", "--format={{.State.Pid}}", container);
    String pss =
        Files.readAllLines(Path.of("/proc", pid, "smaps_rollup")).stream()
            .filter(line -> line.startsWith("Pss:"))
            .findFirst()
            .orElseThrow();
    return Long.parseLong(pss.replaceAll("\\D", "")) / 1024.0;
  }

  private static String docker(String... arguments) throws IOException, InterruptedException {
    var command = new ArrayList<>(List.of("docker"));
    command.addAll(Arrays.asList(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IllegalStateException(String.join(" ", command) + ": " + output);
    }
    return output.strip();
  }
}
