package dev.tranche.e2e.machine;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.HttpGet;
import dev.tranche.e2e.install.PodProcesses;
import dev.tranche.e2e.verify.Anonymizer;
import dev.tranche.e2e.verify.CheckStatus;
import dev.tranche.e2e.verify.NvmlChecks;
import dev.tranche.e2e.verify.Report;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Checks Kubernetes, Tranche and pods on the GPUs of this machine, and writes a report. */
public final class ClusterChecks {
  private static final Path DRIVER = Path.of("/proc/driver/nvidia/version");
  private static final Path TOOLKIT = Path.of("/run/toolkit-version");
  private static final Pattern VERSION = Pattern.compile("\\d+\\.\\d+(\\.\\d+)?");
  private static final Duration BETWEEN_SAMPLES = Duration.ofSeconds(5);

  /** Until then a new pod counts by its share. */
  private static final Duration UNTIL_LOAD_COUNTS = Duration.ofSeconds(45);

  private static final int SM_WITHIN_POINTS = 10;
  private static final int MEMORY_WITHIN_PERCENT = 5;

  /** What a program takes beside what it asks for: its context. */
  private static final int CONTEXT_MIB = 600;

  private static final int BACK_WITHIN_S = 120;
  private static final Path DRIVER_ROOT = Path.of("/nvidia-driver");
  private static final String REQUESTS = "tranche_node_kubelet_request_duration_seconds";

  /** The driver gives threads by such clusters. */
  private static final int MULTIPROCESSORS_OF_A_CLUSTER = 2;

  private final GpuNode node;
  private final Report report;

  private ClusterChecks(GpuNode node, Report report) {
    this.node = node;
    this.report = report;
  }

  /** {@code ClusterChecks KUBECONFIG REPORT OPTION...}: see {@link GpuNode#connect}. */
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
    start(loads.getFirst());
    report.fact("first pod running", GpuNode.secondsSinceStart() + " s after the start");
    loads.subList(1, loads.size()).forEach(this::start);
    loads.forEach(load -> visible(load.name()));
    loads.forEach(load -> node.awaitPod(load.name(), _ -> node.usedMib(load.name()) > 0));
    use(loads);
    allocate();
    NvmlChecks.run(DRIVER_ROOT, report);
    loadDecides();
    memoryDecides(totalMib);
    memoryLimits(totalMib);
    programEnds();
    pluginEnds();
    replicasChange();
    threadLimits();
  }

  private void facts() throws IOException {
    var info = node.node().getStatus().getNodeInfo();
    report.fact("Kubernetes", info.getKubeletVersion());
    report.fact("container runtime", info.getContainerRuntimeVersion());
    report.fact("date", LocalDate.now(ZoneOffset.UTC).toString());
    report.fact("kernel", number(info.getKernelVersion()));
    report.fact("toolkit", Files.readString(TOOLKIT).strip());
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
    start(load, GpuNode.FIRST);
  }

  private void start(GpuLoad load, int gpu) {
    Instant created = Instant.now();
    node.create(load, gpu);
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
    node.awaitPod(name, _ -> !node.row(name).path("gpus").isEmpty());
    String assigned = assigned(name);
    check(
        "Visible GPU",
        name,
        visible.equals(assigned),
        "the program sees %s, assigned was %s".formatted(visible, assigned));
  }

  private void use(List<GpuLoad> loads) throws InterruptedException {
    var smPercents = new DoubleSummaryStatistics[loads.size()];
    Arrays.setAll(smPercents, _ -> new DoubleSummaryStatistics());
    long samples = node.measured().dividedBy(BETWEEN_SAMPLES);
    for (int i = 0; i < samples; i++) {
      Thread.sleep(BETWEEN_SAMPLES);
      for (int j = 0; j < smPercents.length; j++) {
        smPercents[j].accept(smPercent(loads.get(j).name()));
      }
    }
    for (int j = 0; j < smPercents.length; j++) {
      GpuLoad load = loads.get(j);
      var sm = smPercents[j];
      check(
          "Use by NVML",
          load.name() + ", SM",
          Math.abs(sm.getAverage() - load.busyPercent()) <= SM_WITHIN_POINTS,
          "%.0f %% (%.0f to %.0f in %d samples), the program is busy for %d %%"
              .formatted(sm.getAverage(), sm.getMin(), sm.getMax(), samples, load.busyPercent()));
      long usedMib = node.usedMib(load.name());
      long beyondMib = usedMib - load.memoryMib();
      long marginMib = load.memoryMib() * MEMORY_WITHIN_PERCENT / 100;
      check(
          "Use by NVML",
          load.name() + ", memory",
          beyondMib >= -marginMib && beyondMib <= marginMib + CONTEXT_MIB,
          "%d MiB, the program took %d MiB and a context of %d MiB"
              .formatted(usedMib, load.memoryMib(), beyondMib));
    }
  }

  private double smPercent(String name) {
    String used = node.row(name).at("/used/gpus").asText("0");
    return 100 * new Quantity(used).getNumericalAmount().doubleValue();
  }

  private void memoryDecides(long totalMib) {
    node.create(GpuLoad.late(totalMib), GpuNode.FIRST);
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

  /** By grants alone, the first GPU would get the next pod: the other ones have less free. */
  private void loadDecides() throws InterruptedException {
    int gpus = node.gpus().size();
    if (gpus == 1) {
      report.add("Placement", "real load", CheckStatus.NOT_AVAILABLE, "there is one GPU");
      return;
    }
    for (int gpu = 1; gpu < gpus; gpu++) {
      start(new GpuLoad("quiet-" + gpu, "0.9", 1, 1), gpu);
    }
    Thread.sleep(UNTIL_LOAD_COUNTS);
    start(new GpuLoad("elsewhere", "0.1", 1, 1), GpuNode.ANY);
    visible("elsewhere");
    String got = assigned("elsewhere");
    check("Placement", "real load", !got.equals(assigned("steady")), "the next pod got " + got);
  }

  private void memoryLimits(long totalMib) {
    if (!node.limitsMemory()) {
      String why = "the driver or the kernel has none, and FOLDER/demo probe says which";
      report.add("Memory limits", "of the driver", CheckStatus.NOT_AVAILABLE, why);
      node.client().pods().withName("greedy").delete();
      return;
    }
    Map<String, String> expected = Map.of("steady", "Yes", "greedy", "OptedOut");
    expected.forEach(
        (name, limited) -> {
          node.awaitPod(name, _ -> !node.limited(name).isEmpty());
          String read = node.limited(name);
          check("Memory limits", name, read.equals(limited), "read back as limited: " + read);
        });
    // Room for the pods that follow.
    node.client().pods().withName("greedy").delete();
    node.create(GpuLoad.beyond(totalMib), GpuNode.FIRST);
    String error = node.error("beyond");
    node.client().pods().withName("beyond").delete();
    check(
        "Memory limits",
        "half of the memory with a share of 0.2",
        error.contains("left for this container"),
        error);
  }

  private void threadLimits() {
    if (!node.sharesByMps()) {
      String why = "not requested by --mps, or there is no nvidia-cuda-mps-control";
      report.add("MPS", "thread limits", CheckStatus.NOT_AVAILABLE, why);
      return;
    }
    int all = node.multiprocessors("steady");
    node.shareByMps();
    for (GpuLoad load : GpuLoad.byMps()) {
      start(load);
      visible(load.name());
      int seen = node.multiprocessors(load.name());
      double granted = all * Double.parseDouble(load.fraction());
      check(
          "MPS",
          load.name() + ", threads",
          seen > 0 && seen <= granted + MULTIPROCESSORS_OF_A_CLUSTER,
          "%s of the GPU: the program sees %d of %d multiprocessors"
              .formatted(load.fraction(), seen, all));
    }
  }

  /** Reads how long the kubelet's requests took. */
  private void allocate() {
    String page =
        HttpGet.orEmpty(
            HttpClient.newHttpClient(),
            URI.create(
                "http://%s:9090/metrics"
                    .formatted(node.parts("node-plugin").getFirst().getStatus().getPodIP())));
    double seconds = 0;
    double calls = 0;
    for (String line : page.lines().filter(each -> each.contains("\"Allocate\"")).toList()) {
      double value = Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1));
      seconds += line.startsWith(REQUESTS + "_sum") ? value : 0;
      calls += line.startsWith(REQUESTS + "_count") ? value : 0;
    }
    check(
        "Times",
        "Allocate",
        calls > 0,
        "%.0f calls, %.2f ms on average".formatted(calls, 1e3 * seconds / calls));
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
    Pod plugin = node.parts("node-plugin").getFirst();
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
    // A pod that is created before the label changes is sized for the replicas of before.
    Await.until(
        "more replicas",
        BACK_WITHIN_S,
        () ->
            node.replicas() > before
                && "40"
                    .equals(node.node().getMetadata().getLabels().get("nvidia.com/gpu.replicas")));
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
