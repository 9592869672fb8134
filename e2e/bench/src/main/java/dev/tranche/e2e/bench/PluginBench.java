package dev.tranche.e2e.bench;

import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Shell;
import dev.tranche.e2e.kubelet.FakeKubelet;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs the node plugin alone in its image, with 8 GPUs of 100 replicas each and a kubelet that
 * knows no pods. It measures the time to registration, memory and CPU time when idle, the latency
 * of answers, and the image's size.
 */
final class PluginBench {
  static final String CONFIG =
      """
      version: v1
      sharing:
        timeSlicing:
          resources:
            - name: nvidia.com/gpu
              replicas: 100
      """;
  private static final int GPUS = 8;
  private static final Duration IDLE = Duration.ofSeconds(10);
  private static final Duration SAMPLED = Duration.ofSeconds(20);
  private static final int WARM_UP = 3_000;
  private static final int CALLS = 2_000;
  private static final int SIZE = 3;
  private static final int AVAILABLE = 80;

  private PluginBench() {}

  static List<Figure> run(Artifacts artifacts, boolean quick) throws Exception {
    int runs = quick ? 3 : 7;
    Map<String, double[]> values = new LinkedHashMap<>();
    for (int i = 0; i < runs; i++) {
      for (Figure figure : once(artifacts)) {
        values.computeIfAbsent(figure.name() + " " + figure.unit(), n -> new double[runs])[i] =
            figure.value();
      }
    }
    List<Figure> figures = new ArrayList<>();
    values.forEach(
        (name, all) -> {
          int space = name.indexOf(' ');
          figures.add(
              new Figure(name.substring(0, space), Figure.median(all), name.substring(space + 1)));
        });
    figures.add(new Figure("plugin.image_compressed_mb", compressedMb(artifacts.imageTar()), "MB"));
    return figures;
  }

  private static List<Figure> once(Artifacts artifacts) throws Exception {
    List<Figure> figures = new ArrayList<>();
    Path folder = Files.createTempDirectory("tranche-bench");
    Path sockets = Files.createDirectories(folder.resolve("device-plugins"));
    Path podResources = Files.createDirectories(folder.resolve("pod-resources"));
    try (var kubelet =
        new FakeKubelet(sockets.resolve("kubelet.sock"), podResources.resolve("kubelet.sock"))) {
      String container = start(artifacts, folder);
      try {
        Instant registered = kubelet.awaitRegistration();
        List<String> ids = kubelet.awaitDevices();
        if (registered == null || ids == null) {
          throw new IllegalStateException(Shell.docker("logs", container));
        }
        String pid = Shell.docker("inspect", "--format={{.State.Pid}}", container);
        Proc proc = new Proc(Long.parseLong(pid));
        figures.add(ms("plugin.start_ms", startedAt(container), registered));
        Thread.sleep(IDLE);
        figures.add(new Figure("plugin.pss_mb", proc.pssMb(), "MB"));
        double before = proc.cpuSeconds();
        Thread.sleep(SAMPLED);
        double used = proc.cpuSeconds() - before;
        figures.add(new Figure("plugin.cpu_percent", 100 * used / SAMPLED.toSeconds(), "%"));
        calls(kubelet, ids, figures);
      } finally {
        Shell.docker("rm", "-f", container);
      }
    }
    return figures;
  }

  private static void calls(FakeKubelet kubelet, List<String> ids, List<Figure> figures) {
    List<String> available = ids.subList(0, AVAILABLE);
    List<String> some = ids.subList(0, SIZE);
    kubelet.preferUs(available, SIZE, WARM_UP);
    kubelet.allocateUs(some, WARM_UP);
    double[] prefer = kubelet.preferUs(available, SIZE, CALLS);
    double[] allocate = kubelet.allocateUs(some, CALLS);
    figures.add(us("plugin.prefer_p50_us", Figure.median(prefer)));
    figures.add(us("plugin.allocate_p50_us", Figure.median(allocate)));
    figures.add(us("plugin.allocate_p99_us", Figure.quantile(0.99, allocate)));
  }

  private static Figure us(String name, double value) {
    return new Figure(name, value, "us");
  }

  private static Figure ms(String name, Instant from, Instant to) {
    return new Figure(name, Duration.between(from, to).toNanos() / 1e6, "ms");
  }

  private static String start(Artifacts artifacts, Path folder) throws Exception {
    Path driver = folder.resolve("driver");
    NodeGpus.create(driver, artifacts.fakeNvml(), "bench", Collections.nCopies(GPUS, Model.T4));
    Path config = Files.writeString(folder.resolve("config.yaml"), CONFIG);
    return Shell.docker(
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
        "--volume=" + folder.resolve("pod-resources") + ":/var/lib/kubelet/pod-resources",
        "--volume=" + driver + ":/driver-root:ro",
        artifacts.image(),
        "/opt/tranche/runtime/bin/java",
        "@/opt/tranche/etc/node-plugin.args");
  }

  private static Instant startedAt(String container) throws Exception {
    return Instant.parse(Shell.docker("inspect", "--format={{.State.StartedAt}}", container));
  }

  /** Returns how much of the image a node pulls: a registry keeps its layers with gzip. */
  private static double compressedMb(Path tar) throws IOException {
    return Long.parseLong(Shell.output("gzip -c '" + tar + "' | wc -c").strip()) / 1e6;
  }
}
