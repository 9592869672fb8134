package dev.tranche.e2e.verify;

import dev.tranche.e2e.kubelet.FakeKubelet;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Runs the node plugin as a separate process, with a fake kubelet in a temporary folder. */
final class PluginRun implements AutoCloseable {
  private static final String MAIN = "dev.tranche.nodeplugin.NodePluginMain";
  private static final Pattern METRICS_PORT = Pattern.compile("metrics on port (\\d+)");
  private static final int REGISTER_LIMIT_MS = 30_000;
  private static final int STEP_MS = 50;
  private static final int STOP_LIMIT_S = 10;
  private static final int READ_LIMIT_S = 5;
  private static final String CONFIG =
      """
      version: v1
      sharing:
        timeSlicing:
          resources:
            - name: nvidia.com/gpu
              replicas: 2
      """;

  private final Path folder;
  private final FakeKubelet kubelet;
  private final Process process;
  private final HttpClient http = HttpClient.newHttpClient();

  private PluginRun(Path folder, FakeKubelet kubelet, Process process) {
    this.folder = folder;
    this.kubelet = kubelet;
    this.process = process;
  }

  /**
   * Starts a node plugin.
   *
   * @param shared whether each GPU has two replicas; otherwise GPUs are whole, or split into MIG
   *     devices
   * @param flags more flags of the plugin
   */
  static PluginRun start(VerifyOptions options, boolean shared, String... flags)
      throws IOException {
    // The path of a Unix socket must be short.
    Path folder = Files.createTempDirectory("tranche-verify");
    Path config = Files.writeString(folder.resolve("config.yaml"), shared ? CONFIG : "version: v1");
    Path socket = folder.resolve("kubelet.sock");
    Path podResources = folder.resolve("pod-resources.sock");
    FakeKubelet kubelet = new FakeKubelet(socket, podResources);
    List<String> command =
        JavaProcess.command("-Djava.util.logging.SimpleFormatter.format=%4$s %5$s%n");
    options.nvml().ifPresent(file -> command.add("-Djna.library.path=" + file.resolveSibling("")));
    command.add(MAIN);
    command.addAll(
        List.of(
            "--config-file=" + config,
            "--kubelet-socket=" + socket,
            "--pod-resources-socket=" + podResources,
            "--state-dir=" + folder.resolve("state"),
            "--cdi-root=" + folder.resolve("cdi"),
            "--driver-root=" + options.driverRoot(),
            "--driver-root-ctr-path=" + options.driverRoot(),
            "--metrics-address=127.0.0.1:0"));
    command.addAll(List.of(flags));
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("log").toFile());
    // Environment variables of the user could change what is checked.
    builder.environment().keySet().removeIf(PluginRun::configuresPlugin);
    return new PluginRun(folder, kubelet, builder.start());
  }

  private static boolean configuresPlugin(String variable) {
    return !variable.equals("PATH")
        && !variable.equals("HOME")
        && !variable.startsWith("LD_")
        && !variable.startsWith("LC_")
        && !variable.startsWith("TRANCHE_FAKENVML_");
  }

  FakeKubelet kubelet() {
    return kubelet;
  }

  Path cdi() {
    return folder.resolve("cdi");
  }

  /**
   * Waits until the plugin has registered and listed devices; returns false if it does not in time.
   *
   * @param resource the name of the resource, or its beginning
   */
  boolean awaitDevices(String resource) throws InterruptedException {
    for (int waitedMs = 0; waitedMs < REGISTER_LIMIT_MS; waitedMs += STEP_MS) {
      if (kubelet.devices().entrySet().stream()
          .anyMatch(of -> of.getKey().startsWith(resource) && !of.getValue().isEmpty())) {
        return true;
      }
      if (!process.isAlive()) {
        return false;
      }
      Thread.sleep(STEP_MS);
    }
    return false;
  }

  /** The last line of its log that is a warning or worse, else its last one. */
  String lastWarning() {
    try {
      List<String> lines = Files.readAllLines(folder.resolve("log"));
      return lines.stream()
          .filter(line -> line.contains("WARN") || line.contains("SEVERE"))
          .reduce((first, last) -> last)
          .or(() -> lines.stream().reduce((first, last) -> last))
          .orElse("it says nothing");
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** A metric of each GPU, by the GPU's uuid. */
  Map<String, Double> byUuid(String metric) throws IOException, InterruptedException {
    Map<String, Double> values = new TreeMap<>();
    Pattern line =
        Pattern.compile("^" + metric + "\\{.*?UUID=\"([^\"]+)\".*} (\\S+)$", Pattern.MULTILINE);
    line.matcher(metrics())
        .results()
        .forEach(found -> values.put(found.group(1), Double.parseDouble(found.group(2))));
    return values;
  }

  /** A metric without labels. */
  Optional<Double> metric(String name) throws IOException, InterruptedException {
    Matcher found = Pattern.compile("^" + name + " (\\S+)$", Pattern.MULTILINE).matcher(metrics());
    return found.find() ? Optional.of(Double.valueOf(found.group(1))) : Optional.empty();
  }

  private String metrics() throws IOException, InterruptedException {
    Matcher port = METRICS_PORT.matcher(Files.readString(folder.resolve("log")));
    if (!port.find()) {
      throw new IOException("the plugin serves no metrics");
    }
    URI uri = URI.create("http://127.0.0.1:" + port.group(1) + "/metrics");
    HttpRequest request =
        HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(READ_LIMIT_S)).build();
    return http.send(request, HttpResponse.BodyHandlers.ofString()).body();
  }

  @Override
  public void close() throws IOException, InterruptedException {
    // A normal shutdown waits until extenders know of it, which nothing needs here.
    process.destroyForcibly().waitFor(STOP_LIMIT_S, TimeUnit.SECONDS);
    kubelet.close();
    http.close();
    try (var files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
