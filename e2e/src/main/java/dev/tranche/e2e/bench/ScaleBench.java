package dev.tranche.e2e.bench;

import dev.tranche.api.node.Assignment;
import dev.tranche.e2e.bench.plane.BoundPods;
import dev.tranche.e2e.bench.plane.ChildProcess;
import dev.tranche.e2e.bench.plane.ControlPlane;
import dev.tranche.e2e.bench.plane.ExtenderPart;
import dev.tranche.e2e.bench.plane.Population;
import dev.tranche.e2e.bench.plane.SimulatedNodes;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Measures how many pods a second a stock kube-scheduler binds among thousands of nodes. It runs
 * with no extender, with one that does nothing, and with ours. Ours gets the report of every GPU
 * over the real streams.
 */
final class ScaleBench {
  private static final Duration LIMIT = Duration.ofMinutes(15);
  private static final long SAID_MS = 100;

  /** So many runs nobody counts: the second compiler works through some ten thousand pods. */
  private static final int WARM_RUNS = 5;

  private static final String EVERY_NODE = "percentageOfNodesToScore: 100\n";

  /** What is measured one after the other on the same nodes. */
  enum Part {
    /** No extender. */
    NONE,
    /** One that does nothing. */
    NOOP,
    /** Ours as it is shipped: pods without preferences are offered the best nodes only. */
    OURS,
    /** Ours, and all nodes that fit are offered. */
    ALL,
    /** Ours as it is shipped, beside pods that wait. */
    WORST;

    /** Without those that must be asked for. */
    static List<Part> byDefault() {
      return List.of(NONE, NOOP, OURS, ALL);
    }
  }

  record Size(List<Integer> nodes, int pods, List<Part> parts) {}

  private final Artifacts artifacts;
  private final Path folder;
  private final int nodes;
  private final int pods;
  private final List<Figure> figures;
  private final ControlPlane plane;

  /** By uuid: which GPUs the pods of a run were given. */
  private final Queue<String> given = new ConcurrentLinkedQueue<>();

  private int runs;

  private ScaleBench(Artifacts artifacts, int nodes, int pods, List<Figure> figures)
      throws IOException {
    this.artifacts = artifacts;
    this.nodes = nodes;
    this.pods = pods;
    this.figures = figures;
    this.folder = Files.createTempDirectory("tranche-scale");
    this.plane = new ControlPlane(artifacts.kubernetes(), folder);
  }

  static List<Figure> run(Artifacts artifacts, Size size) throws Exception {
    var figures = new ArrayList<Figure>();
    for (int nodes : size.nodes()) {
      new ScaleBench(artifacts, nodes, size.pods(), figures).measure(size.parts());
    }
    return figures;
  }

  private void measure(List<Part> parts) throws Exception {
    try (plane) {
      say("creating %d nodes and 10000 foreign pods".formatted(nodes));
      Population.createNodes(plane.client(), nodes);
      Population.createForeignPods(plane.client(), 10_000, nodes);
      for (Part part : parts) {
        switch (part) {
          case NONE -> none();
          case NOOP -> noop();
          case OURS -> ours("ours", this::oursOf);
          case ALL -> ours("all", this::oursOf, "--offered-nodes-max=0");
          case WORST -> ours("worst", this::neighbours);
        }
      }
    }
  }

  private void none() throws IOException {
    bind("none", EVERY_NODE, uids -> {});
    bind("sampled.none", "", uids -> {});
  }

  private void noop() throws IOException {
    int port = ControlPlane.freePort();
    var command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin/java").toString(),
            "-XX:+UseSerialGC",
            "-cp",
            System.getProperty("java.class.path"),
            "dev.tranche.e2e.bench.plane.NoopExtender",
            Integer.toString(port),
            plane.url());
    try (var part = ChildProcess.start(folder.resolve("noop.log"), command)) {
      String extender = ExtenderPart.schedulerExtender(port);
      warm(WARM_RUNS, extender, uids -> {});
      bind("sampled.noop", extender, uids -> {});
      bind("noop", EVERY_NODE + extender, uids -> {});
      part.mustLive();
    }
  }

  private interface Measure {
    void of(String name, ExtenderPart extender, SimulatedNodes streams) throws IOException;
  }

  private void ours(String name, Measure measure, String... flags) throws IOException {
    var log = folder.resolve(name + ".log");
    try (var extender = new ExtenderPart(artifacts.root(), plane, log, flags)) {
      Await.until("the extender to be ready", 300, extender::ready);
      var start = Duration.between(extender.part().startedAt(), Instant.now());
      figure(name + ".ready_s", start.toMillis() / 1e3, "s");
      say("opening %d streams".formatted(nodes));
      try (var streams =
          new SimulatedNodes(
              plane.client(), extender.streamPort(), Population.gpus(nodes), this::assigned)) {
        Await.until("every node to be heard", 300, () -> extender.hears(nodes));
        measure.of(name, extender, streams);
      }
    }
  }

  private void assigned(String node, Assignment assignment) {
    assignment
        .getContainersList()
        .forEach(c -> c.getSharesList().forEach(share -> given.add(share.getUuid())));
  }

  private void oursOf(String name, ExtenderPart extender, SimulatedNodes streams)
      throws IOException {
    Ended ended = bound -> bound.forEach((uid, node) -> streams.ended(node, uid));
    String configuration = extender.schedulerExtender();
    Duration cpuCold = extender.part().cpu();
    bind("cold." + name, configuration, ended);
    figure("cold." + name + ".cpu_s_per_1000_pods", since(cpuCold, extender), "s");
    warm(WARM_RUNS - 1, configuration, ended);
    bind("sampled." + name, configuration, ended);
    given.clear();
    var before = VerbLatency.of(extender.metrics());
    Duration cpuBefore = extender.part().cpu();
    var threadsBefore = extender.part().cpuByThreads();
    bind(name, EVERY_NODE + configuration, ended);
    var during = VerbLatency.of(extender.metrics()).minus(before);
    double cpuSeconds = since(cpuBefore, extender);
    figure(name + ".filter_p99_ms", during.quantileMs("filter", 0.99), "ms");
    figure(name + ".prioritize_p99_ms", during.quantileMs("prioritize", 0.99), "ms");
    figure(name + ".bind_p99_ms", during.quantileMs("bind", 0.99), "ms");
    figure(name + ".cpu_s_per_1000_pods", cpuSeconds, "s");
    sayCpu(threadsBefore, extender.part().cpuByThreads());
    figure(name + ".rss_mb", extender.part().residentMib(), "MB");
    figure(name + ".chosen_gpu_load_percent", meanLoad(), "%");
    figure(name + ".chosen_gpus", (double) given.stream().distinct().count(), "");
  }

  private void neighbours(String name, ExtenderPart extender, SimulatedNodes streams)
      throws IOException {
    Ended ended = bound -> bound.forEach((uid, node) -> streams.ended(node, uid));
    String configuration = extender.schedulerExtender();
    warm(WARM_RUNS, configuration, ended);
    new NeighbourCost(plane, configuration, pods, ended::ended)
        .measure()
        .forEach(
            (figure, value) ->
                figure(name + "." + figure, value, figure.endsWith("_ms") ? "ms" : "pods/s"));
  }

  /** Seconds of CPU for 1,000 pods of a run that began then. */
  private double since(Duration cpuBefore, ExtenderPart extender) {
    return extender.part().cpu().minus(cpuBefore).toMillis() / (double) pods;
  }

  /** Whose work it was. */
  private static void sayCpu(Map<String, Duration> before, Map<String, Duration> after) {
    after.forEach(
        (threads, cpu) -> {
          long ms = cpu.minus(before.getOrDefault(threads, Duration.ZERO)).toMillis();
          if (ms >= SAID_MS) {
            say("  CPU of %s: %.1f s".formatted(threads, ms / 1e3));
          }
        });
  }

  /** Of the GPUs that pods were given, as measured before they came. */
  private double meanLoad() {
    return given.stream().mapToInt(Population::smPercent).average().orElse(Double.NaN);
  }

  private interface Ended {
    void ended(Map<String, String> nodesByUid);
  }

  /** Pods that nobody counts: the compilers have then seen most of what there is to compile. */
  private void warm(int runs, String configuration, Ended ended) throws IOException {
    int counted = figures.size();
    for (int i = 0; i < runs; i++) {
      bind("warm", configuration, ended);
    }
    figures.subList(counted, figures.size()).clear();
  }

  /** Pods are there before the scheduler, and are gone before the next run. */
  private void bind(String name, String configuration, Ended ended) throws IOException {
    Population.createPods(plane.client(), "run-" + ++runs, pods);
    try (var bound = new BoundPods(plane.client(), Population.LABEL)) {
      Duration before = ownCpu();
      plane.startScheduler(configuration);
      figure(name + ".pods_per_second", bound.await(pods, LIMIT), "pods/s");
      double cpuSeconds = ownCpu().minus(before).toMillis() / 1e3;
      figure(name + ".bench_cpu_s_per_1000_pods", cpuSeconds * 1_000 / pods, "s");
      plane.stopScheduler();
      Population.deletePods(plane.client(), Population.LABEL);
      ended.ended(bound.nodes());
    }
  }

  /** Of this process, which plays all node plugins on the same cores. */
  private static Duration ownCpu() {
    return ProcessHandle.current().info().totalCpuDuration().orElseThrow();
  }

  private void figure(String name, double value, String unit) {
    var figure = new Figure("scale." + nodes + "." + name, value, unit);
    say(Figure.table(List.of(figure)).strip());
    figures.add(figure);
  }

  private static void say(String step) {
    System.err.println(step);
  }
}
