package dev.tranche.e2e.bench;

import dev.tranche.e2e.bench.plane.BoundPods;
import dev.tranche.e2e.bench.plane.ClusterObjects;
import dev.tranche.e2e.bench.plane.ExtenderProcess;
import dev.tranche.e2e.bench.plane.SimulatedNodes;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.plane.ChildProcess;
import dev.tranche.e2e.plane.ControlPlane;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Measures how many pods a second a stock kube-scheduler binds among thousands of nodes. It runs
 * with no extender, with one that does nothing, and with ours. Ours gets the report of every GPU
 * over the real streams.
 */
final class ScaleBench {
  private static final Duration LIMIT = Duration.ofMinutes(15);

  /** Warm-up runs, which are not counted: the C2 compiler is busy for some ten thousand pods. */
  private static final int WARM_RUNS = 5;

  private static final String EVERY_NODE = "percentageOfNodesToScore: 100\n";

  /** The configurations that are measured one after the other on the same nodes. */
  enum Part {
    /** No extender. */
    NONE,
    /** An extender that does nothing. */
    NOOP,
    /** Our extender as shipped: it offers only the best nodes to pods without preferences. */
    OURS,
    /** Our extender, which offers all nodes that fit. */
    ALL
  }

  record Size(List<Integer> nodes, int pods, List<Part> parts) {}

  private final Artifacts artifacts;
  private final Path folder;
  private final int nodes;
  private final int pods;
  private final List<Figure> figures;
  private final ControlPlane plane;

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
      print("creating %d nodes and 10000 foreign pods".formatted(nodes));
      ClusterObjects.createNodes(plane.client(), nodes);
      ClusterObjects.createForeignPods(plane.client(), 10_000, nodes);
      for (Part part : parts) {
        switch (part) {
          case NONE -> none();
          case NOOP -> noop();
          case OURS -> ours("ours");
          case ALL -> ours("all", "--offered-nodes-max=0");
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
      String extender = ExtenderProcess.schedulerExtender(port);
      warm(WARM_RUNS, extender, uids -> {});
      bind("sampled.noop", extender, uids -> {});
      bind("noop", EVERY_NODE + extender, uids -> {});
      part.requireAlive();
    }
  }

  private void ours(String name, String... flags) throws IOException {
    var log = folder.resolve(name + ".log");
    try (var extender = new ExtenderProcess(artifacts.root(), plane, log, flags)) {
      Await.until("the extender to be ready", 300, extender::ready);
      var start = Duration.between(extender.process().startedAt(), Instant.now());
      figure(name + ".ready_s", start.toMillis() / 1e3, "s");
      print("opening %d streams".formatted(nodes));
      try (var streams =
          new SimulatedNodes(plane.client(), extender.streamPort(), ClusterObjects.gpus(nodes))) {
        Await.until("every node to be heard", 300, () -> extender.hasStreams(nodes));
        measureBinding(name, extender, streams);
      }
    }
  }

  private void measureBinding(String name, ExtenderProcess extender, SimulatedNodes streams)
      throws IOException {
    DeletionListener onDeleted = bound -> bound.forEach((uid, node) -> streams.endPod(node, uid));
    String configuration = extender.schedulerExtender();
    warm(WARM_RUNS, configuration, onDeleted);
    bind("sampled." + name, configuration, onDeleted);
    var before = VerbLatency.of(extender.metrics());
    Duration cpuBefore = extender.process().cpu();
    bind(name, EVERY_NODE + configuration, onDeleted);
    var during = VerbLatency.of(extender.metrics()).minus(before);
    double cpuSeconds = extender.process().cpu().minus(cpuBefore).toMillis() / (double) pods;
    figure(name + ".filter_p99_ms", during.quantileMs("filter", 0.99), "ms");
    figure(name + ".bind_p99_ms", during.quantileMs("bind", 0.99), "ms");
    figure(name + ".cpu_s_per_1000_pods", cpuSeconds, "s");
    figure(name + ".rss_mb", extender.process().residentMib(), "MB");
  }

  private interface DeletionListener {
    void onDeleted(Map<String, String> nodesByUid);
  }

  /** Runs pods that are not counted, so that the JVMs have compiled most of their code. */
  private void warm(int runs, String configuration, DeletionListener onDeleted) throws IOException {
    int counted = figures.size();
    for (int i = 0; i < runs; i++) {
      bind("warm", configuration, onDeleted);
    }
    figures.subList(counted, figures.size()).clear();
  }

  /**
   * Measures one run. Its pods exist before the scheduler starts, and are gone before the next run.
   */
  private void bind(String name, String configuration, DeletionListener onDeleted)
      throws IOException {
    ClusterObjects.createPods(plane.client(), "run-" + ++runs, pods);
    try (var bound = new BoundPods(plane.client(), ClusterObjects.LABEL)) {
      plane.startScheduler(configuration);
      figure(name + ".pods_per_second", bound.await(pods, LIMIT), "pods/s");
      plane.stopScheduler();
      ClusterObjects.deletePods(plane.client(), ClusterObjects.LABEL);
      onDeleted.onDeleted(bound.nodes());
    }
  }

  private void figure(String name, double value, String unit) {
    var figure = new Figure("scale." + nodes + "." + name, value, unit);
    print(Figure.table(List.of(figure)).strip());
    figures.add(figure);
  }

  private static void print(String step) {
    System.err.println(step);
  }
}
