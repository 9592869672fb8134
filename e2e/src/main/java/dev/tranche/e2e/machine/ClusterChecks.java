package dev.tranche.e2e.machine;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodProcesses;
import dev.tranche.e2e.verify.Anonymizer;
import dev.tranche.e2e.verify.CheckStatus;
import dev.tranche.e2e.verify.Report;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Checks Kubernetes, Tranche and pods on the GPUs of this machine, and writes a report. */
public final class ClusterChecks {
  private static final Path DRIVER = Path.of("/proc/driver/nvidia/version");
  private static final Pattern VERSION = Pattern.compile("\\d+\\.\\d+(\\.\\d+)?");
  private static final Duration BETWEEN_SAMPLES = Duration.ofSeconds(5);
  private static final int SM_WITHIN_POINTS = 10;
  private static final int MEMORY_WITHIN_PERCENT = 5;

  /** What a program takes beside what it asks for: its context. */
  private static final int CONTEXT_MIB = 600;

  private static final int BACK_WITHIN_S = 120;

  private final GpuNode node;
  private final Report report;

  private ClusterChecks(GpuNode node, Report report) {
    this.node = node;
    this.report = report;
  }

  /** {@code ClusterChecks KUBECONFIG REPORT [--simulated]}. */
  public static void main(String[] args) throws Exception {
    var report = new Report(System.out, Anonymizer.forThisMachine());
    try (var node = GpuNode.connect(args)) {
      new ClusterChecks(node, report).run();
    } catch (AssertionError | RuntimeException e) {
      report.add("Pods", "all checks", CheckStatus.FAILED, "the checks ended early: " + e);
    }
    report.write(Path.of(args[1]));
    System.exit(report.failed() ? 1 : 0);
  }

  private void run() throws InterruptedException, IOException {
    node.awaitReady();
    facts();
    long totalMib = GpuNode.mib(node.gpus().path(0).path("memory"));
    List<GpuLoad> loads = GpuLoad.three(totalMib);
    loads.forEach(this::start);
    loads.forEach(load -> visible(load.name()));
    loads.forEach(load -> node.awaitPod(load.name(), _ -> node.usedMib(load.name()) > 0));
    use(loads);
    memoryDecides(totalMib);
    loadDecides();
    // Room for the pods that follow.
    node.client().pods().withName("greedy").delete();
    programEnds();
    pluginEnds();
    replicasChange();
  }

  private void facts() throws IOException {
    var info = node.client().nodes().list().getItems().getFirst().getStatus().getNodeInfo();
    report.fact("Kubernetes", info.getKubeletVersion());
    report.fact("container runtime", info.getContainerRuntimeVersion());
    report.fact("date", LocalDate.now(ZoneOffset.UTC).toString());
    report.fact("kernel", number(info.getKernelVersion()));
    report.fact("toolkit", "none, the plugin's CDI specs");
    report.fact("driver", Files.exists(DRIVER) ? number(Files.readString(DRIVER)) : "simulated");
    JsonNode gpus = node.gpus();
    report.fact("GPUs", gpus.size() + " × " + gpus.path(0).path("model").asText());
  }

  private static String number(String text) {
    Matcher number = VERSION.matcher(text);
    return number.find() ? number.group() : "not reported";
  }

  private void check(String area, String name, boolean ok, String sentence) {
    report.add(area, name, ok ? CheckStatus.OK : CheckStatus.FAILED, sentence);
  }

  private void start(GpuLoad load) {
    Instant created = Instant.now();
    node.create(load);
    node.awaitPod(load.name(), GpuNode::isRunning);
    long ms = Duration.between(created, Instant.now()).toMillis();
    check("Pods", load.name(), true, "running %.1f s after its creation".formatted(ms / 1e3));
  }

  private String assigned(String name) {
    JsonNode gpu = node.row(name).path("gpus").path(0);
    return node.isSimulated() ? "/dev/nvidia" + gpu.path("index") : gpu.path("uuid").asText();
  }

  private void visible(String name) {
    String visible = node.visible(name);
    String assigned = assigned(name);
    check(
        "Visible GPU",
        name,
        visible.equals(assigned),
        "the program sees %s, assigned was %s".formatted(visible, assigned));
  }

  private void use(List<GpuLoad> loads) throws InterruptedException {
    var smPercents = new double[loads.size()];
    long samples = node.measured().dividedBy(BETWEEN_SAMPLES);
    for (int i = 0; i < samples; i++) {
      Thread.sleep(BETWEEN_SAMPLES);
      for (int j = 0; j < smPercents.length; j++) {
        smPercents[j] += smPercent(loads.get(j).name()) / samples;
      }
    }
    for (int j = 0; j < smPercents.length; j++) {
      GpuLoad load = loads.get(j);
      check(
          "Use by NVML",
          load.name() + ", SM",
          Math.abs(smPercents[j] - load.busyPercent()) <= SM_WITHIN_POINTS,
          "%.0f %%, the program is busy for %d %%".formatted(smPercents[j], load.busyPercent()));
      long usedMib = node.usedMib(load.name());
      long beyondMib = usedMib - load.memoryMib();
      long marginMib = load.memoryMib() * MEMORY_WITHIN_PERCENT / 100;
      check(
          "Use by NVML",
          load.name() + ", memory",
          beyondMib >= -marginMib && beyondMib <= marginMib + CONTEXT_MIB,
          "%d MiB, the program took %d MiB and a context".formatted(usedMib, load.memoryMib()));
    }
  }

  private double smPercent(String name) {
    String used = node.row(name).at("/used/gpus").asText("0");
    return 100 * new Quantity(used).getNumericalAmount().doubleValue();
  }

  private void memoryDecides(long totalMib) {
    if (node.gpus().size() > 1) {
      report.add(
          "Placement",
          "measured memory",
          CheckStatus.NOT_AVAILABLE,
          "a pod need not wait for the memory of one GPU where there is another");
      return;
    }
    node.create(GpuLoad.late(totalMib));
    node.awaitPod("late", _ -> !node.reason("late").isEmpty());
    String reason = node.reason("late");
    check(
        "Placement",
        "measured memory",
        reason.contains("processes there use too much of the memory"),
        "with a fifth of the GPU free a pod waits: " + reason);
    Instant released = Instant.now();
    node.release("greedy");
    node.awaitPod("late", GpuNode::isRunning);
    long seconds = Duration.between(released, Instant.now()).toSeconds();
    check("Placement", "freed memory", true, "the pod runs %d s later".formatted(seconds));
  }

  private void loadDecides() {
    if (node.gpus().size() == 1) {
      report.add("Placement", "real load", CheckStatus.NOT_AVAILABLE, "there is one GPU");
      return;
    }
    var loaded = new ArrayList<String>();
    node.rows().forEach(row -> loaded.add(row.path("gpus").path(0).path("uuid").asText()));
    start(new GpuLoad("elsewhere", "0.1", 1, 1));
    String uuid = node.row("elsewhere").path("gpus").path(0).path("uuid").asText();
    check("Placement", "real load", !loaded.contains(uuid), "the next pod got " + uuid);
  }

  private void programEnds() throws IOException {
    String before = assigned("steady");
    kill(node.pod("steady"), "gpu-load");
    node.awaitPod("steady", pod -> restarts(pod) == 1 && GpuNode.isRunning(pod));
    check(
        "Restarts",
        "a killed program",
        assigned("steady").equals(before) && node.visible("steady").equals(before),
        "it runs again, on %s as before".formatted(before));
  }

  private void pluginEnds() throws IOException {
    Pod plugin =
        node.client()
            .pods()
            .inNamespace(GpuNode.TRANCHE)
            .withLabel("app.kubernetes.io/component", "node-plugin")
            .list()
            .getItems()
            .getFirst();
    String name = plugin.getMetadata().getName();
    int before = restarts(plugin);
    kill(plugin, "java");
    Await.until(
        "the node plugin to run again",
        BACK_WITHIN_S,
        () -> {
          Pod again = node.client().pods().inNamespace(GpuNode.TRANCHE).withName(name).require();
          return restarts(again) > before && GpuNode.isRunning(again) && node.replicas() > 0;
        });
    check(
        "Restarts",
        "a killed node plugin",
        restarts(node.pod("steady")) == 1 && GpuNode.isRunning(node.pod("steady")),
        "it runs again, and the pods went on");
    start(new GpuLoad("after-plugin", "0.1", 1, 1));
    visible("after-plugin");
  }

  /** Twice as many for each GPU. Pods that run keep their part, and the rest is cut anew. */
  private void replicasChange() {
    int before = node.replicas();
    node.client()
        .configMaps()
        .inNamespace(GpuNode.TRANCHE)
        .withName("tranche-config")
        .edit(
            map ->
                new ConfigMapBuilder(map)
                    .addToData(
                        "default",
                        map.getData()
                            .getOrDefault("default", "")
                            .replace("replicas: 20", "replicas: 40"))
                    .build());
    Await.until("more replicas", BACK_WITHIN_S, () -> node.replicas() > before);
    check(
        "Changed replicas",
        "pods that ran",
        restarts(node.pod("steady")) == 1 && GpuNode.isRunning(node.pod("steady")),
        "they went on while %d replicas became %d".formatted(before, node.replicas()));
    start(new GpuLoad("fortieth", "0.025", 1, 1));
    visible("fortieth");
  }

  private static int restarts(Pod pod) {
    return pod.getStatus().getContainerStatuses().stream()
        .mapToInt(status -> status.getRestartCount())
        .sum();
  }

  private static void kill(Pod pod, String program) throws IOException {
    for (String pid : PodProcesses.onHost(pod, program)) {
      PodProcesses.signal(pid, "KILL");
    }
  }
}
