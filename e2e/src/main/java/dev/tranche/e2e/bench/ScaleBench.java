package dev.tranche.e2e.bench;

import dev.tranche.e2e.bench.plane.BoundPods;
import dev.tranche.e2e.bench.plane.ControlPlane;
import dev.tranche.e2e.bench.plane.ExtenderPart;
import dev.tranche.e2e.bench.plane.Part;
import dev.tranche.e2e.bench.plane.Population;
import dev.tranche.e2e.bench.plane.SimulatedNodes;
import dev.tranche.e2e.install.Artifacts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;

/**
 * How many pods a second a stock kube-scheduler binds among thousands of nodes: with no extender,
 * with one that does nothing, and with ours, which hears of every GPU over the real streams.
 */
final class ScaleBench {
  private static final Duration LIMIT = Duration.ofMinutes(15);

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

  static List<Figure> run(Artifacts artifacts, boolean quick) throws Exception {
    var figures = new ArrayList<Figure>();
    for (int nodes : quick ? new int[] {1_000} : new int[] {1_000, 5_000}) {
      new ScaleBench(artifacts, nodes, quick ? 500 : 2_000, figures).measure();
    }
    return figures;
  }

  private void measure() throws Exception {
    try (plane) {
      say("creating %d nodes and 10000 foreign pods".formatted(nodes));
      Population.createNodes(plane.client(), nodes);
      Population.createForeignPods(plane.client(), 10_000, nodes);
      none();
      noop();
      ours();
    }
  }

  private void none() throws IOException {
    bind("none", "percentageOfNodesToScore: 100\n", uids -> {});
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
    try (var part = Part.start(folder.resolve("noop.log"), command)) {
      String extender = ExtenderPart.schedulerExtender(port);
      bind("noop", "percentageOfNodesToScore: 100\n" + extender, uids -> {});
      bind("sampled.noop", extender, uids -> {});
      part.mustLive();
    }
  }

  private void ours() throws IOException {
    var log = folder.resolve("extender.log");
    long started = System.nanoTime();
    try (var extender = new ExtenderPart(artifacts.root(), plane, log)) {
      await("the extender to be ready", extender::ready);
      figure("ours.ready_s", (System.nanoTime() - started) / 1e9, "s");
      say("opening %d streams".formatted(nodes));
      try (var streams =
          new SimulatedNodes(
              plane.client(), extender.streamPort(), Population.gpus(nodes), (node, pod) -> {})) {
        await("every node to be heard", () -> heard(extender));
        oursOf(extender, streams);
      }
    }
  }

  private void oursOf(ExtenderPart extender, SimulatedNodes streams) throws IOException {
    Ended ended = bound -> bound.forEach((uid, node) -> streams.ended(node, uid));
    String configuration = extender.schedulerExtender();
    bind("sampled.ours", configuration, ended);
    var before = VerbLatency.of(extender.metrics());
    Duration cpuBefore = extender.part().cpu();
    bind("ours", "percentageOfNodesToScore: 100\n" + configuration, ended);
    var during = VerbLatency.of(extender.metrics()).minus(before);
    double cpuSeconds = extender.part().cpu().minus(cpuBefore).toMillis() / 1e3;
    figure("ours.filter_p99_ms", during.quantileMs("filter", 0.99), "ms");
    figure("ours.prioritize_p99_ms", during.quantileMs("prioritize", 0.99), "ms");
    figure("ours.bind_p99_ms", during.quantileMs("bind", 0.99), "ms");
    figure("ours.cpu_s_per_1000_pods", cpuSeconds * 1_000 / pods, "s");
    figure("ours.rss_mb", extender.part().residentMib(), "MB");
  }

  private boolean heard(ExtenderPart extender) {
    try {
      return extender
          .metrics()
          .lines()
          .anyMatch(("tranche_extender_streams " + nodes + ".0")::equals);
    } catch (IOException notYet) {
      return false;
    }
  }

  private interface Ended {
    void ended(Map<String, String> nodesByUid);
  }

  /** Pods are there before the scheduler, and are gone before the next run. */
  private void bind(String name, String configuration, Ended ended) throws IOException {
    Population.createPods(plane.client(), "run-" + ++runs, pods);
    try (var bound = new BoundPods(plane.client(), Population.LABEL)) {
      plane.startScheduler(configuration);
      figure(name + ".pods_per_second", bound.await(pods, LIMIT), "pods/s");
      plane.stopScheduler();
      var mine =
          plane.client().pods().inNamespace(Population.NAMESPACE).withLabel(Population.LABEL);
      mine.withGracePeriod(0).delete();
      ended.ended(bound.nodes());
      await("the pods to be gone", () -> mine.list().getItems().isEmpty());
    }
  }

  private static void await(String what, BooleanSupplier holds) {
    dev.tranche.e2e.install.Await.until(what, 300, holds);
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
