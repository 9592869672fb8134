package dev.tranche.e2e.bench;

import dev.tranche.e2e.bench.plane.ClusterObjects;
import dev.tranche.e2e.bench.plane.ExtenderProcess;
import dev.tranche.e2e.bench.plane.SimulatedNodes;
import dev.tranche.e2e.bench.ui.BusyPods;
import dev.tranche.e2e.bench.ui.PageReaders;
import dev.tranche.e2e.bench.ui.PageWatch;
import dev.tranche.e2e.browser.Chromium;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.HttpGet;
import dev.tranche.e2e.plane.ControlPlane;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Measures the web page in a browser, and what its readers cost the extender. Nodes report every
 * five seconds, evenly spread, and every report has new loads. The page thus has an update each
 * second.
 */
final class UiBench {
  private static final int GPUS_PER_NODE = 8;
  private static final int READERS = 20;
  private static final int WAITING_PODS = 40;

  /** Turns that are not counted, in which the JVM compiles most of its code. */
  private static final int WARM_TURNS = 2;

  private static final Duration SETTLED = Duration.ofSeconds(10);

  /**
   * @param gpus the number of GPUs of each cluster; clusters are measured one after the other
   * @param watched how long a page is left open
   * @param turn the length of a turn, with readers or without
   * @param turns the number of turns with readers, and as many without
   * @param rounds the number of rounds of interactions
   */
  record Size(List<Integer> gpus, Duration watched, Duration turn, int turns, int rounds) {}

  private final Artifacts artifacts;
  private final Size size;
  private final int gpus;
  private final int nodes;
  private final int apiPort = ControlPlane.freePort();
  private final List<Figure> figures;

  private UiBench(Artifacts artifacts, Size size, int gpus, List<Figure> figures) {
    this.artifacts = artifacts;
    this.size = size;
    this.gpus = gpus;
    this.nodes = gpus / GPUS_PER_NODE;
    this.figures = figures;
  }

  static List<Figure> run(Artifacts artifacts, Size size) throws Exception {
    var figures = new ArrayList<Figure>();
    for (int gpus : size.gpus()) {
      if (gpus <= 0 || gpus % GPUS_PER_NODE != 0) {
        throw new IllegalArgumentException(
            "--gpus has %d; allowed are multiples of %d, which a node has"
                .formatted(gpus, GPUS_PER_NODE));
      }
      new UiBench(artifacts, size, gpus, figures).measure();
    }
    return figures;
  }

  private void measure() throws Exception {
    Path folder = Files.createTempDirectory("tranche-ui");
    var simulated = ClusterObjects.gpus(nodes);
    try (var plane = new ControlPlane(artifacts.kubernetes(), folder);
        var busy = new BusyPods(simulated)) {
      print("creating %d nodes and their pods".formatted(nodes));
      ClusterObjects.createNodes(plane.client(), nodes);
      ClusterObjects.createPods(plane.client(), "waiting", WAITING_PODS);
      busy.createPods(plane.client());
      try (var extender =
          new ExtenderProcess(
              artifacts.root(),
              plane,
              folder.resolve("extender.log"),
              "--api-local-address=127.0.0.1:" + apiPort)) {
        Await.until("the extender to be ready", 300, extender::ready);
        try (var streams = new SimulatedNodes(plane.client(), extender.streamPort(), simulated)) {
          busy.start(streams);
          Await.until("every GPU to be measured", 300, this::measured);
          readers(extender);
          page();
        }
        extender.process().requireAlive();
      }
    }
  }

  private boolean measured() {
    var page = URI.create("http://127.0.0.1:" + apiPort + "/api/v1/summary");
    try (var http = HttpClient.newHttpClient()) {
      var summary = new JsonObject(HttpGet.of(http, page).body());
      var used = summary.getJsonObject("cluster").getJsonObject("used");
      return used.getInteger("measuredGpus") == gpus;
    } catch (IOException | RuntimeException notYet) {
      return false;
    }
  }

  /** Measures the CPU use of the extender's process with readers and without, in turns. */
  private void readers(ExtenderProcess extender) throws Exception {
    print("turns with %d readers and without".formatted(READERS));
    var with = new ArrayList<Double>();
    var without = new ArrayList<Double>();
    var kib = new ArrayList<Double>();
    for (int i = -WARM_TURNS; i < size.turns(); i++) {
      double alone = cpuPercent(extender);
      double read;
      long bytes;
      try (var readers = new PageReaders(apiPort, READERS)) {
        // The first answer has all rows, and is no update.
        Thread.sleep(Duration.ofSeconds(3));
        long before = readers.bytes();
        read = cpuPercent(extender);
        bytes = readers.bytes() - before;
        readers.requireAlive();
      }
      print("  CPU of a core: %.1f %% alone, %.1f %% read".formatted(alone, read));
      if (i >= 0) {
        without.add(alone);
        with.add(read);
        kib.add(bytes / 1024.0 / READERS / size.turn().toSeconds());
      }
    }
    figure("cpu_percent.readers", median(with) - median(without), "%");
    figure("answers_kib_per_second", median(kib), "KiB/s");
  }

  /** Returns the extender's CPU use during a turn, in percent of one core. */
  private double cpuPercent(ExtenderProcess extender) throws InterruptedException {
    Duration before = extender.process().cpu();
    long from = System.nanoTime();
    Thread.sleep(size.turn());
    return extender.process().cpu().minus(before).toNanos() * 100.0 / (System.nanoTime() - from);
  }

  private void page() throws Exception {
    try (var chromium = new Chromium(artifacts.root());
        var page = new PageWatch(chromium, apiPort)) {
      watched(page);
    }
  }

  private void watched(PageWatch page) {
    page.watch(SETTLED);
    int updates = page.updatesMs().length;
    print("watching the page for " + size.watched());
    page.watch(size.watched());
    double[] updatesMs = page.updatesMs();
    updatesMs = Arrays.copyOfRange(updatesMs, updates, updatesMs.length);
    if (updatesMs.length == 0) {
      throw new IllegalStateException("the page received no change");
    }
    figure("update_ms.p99", p99(updatesMs), "ms");
    figure("heap_mb.end", page.heapMib(), "MB");
    print("clicking and typing");
    int tasks = page.longTasksMs().length;
    double[] interactionsMs = page.interact(size.rounds());
    double longestMs = Arrays.stream(page.longTasksMs()).skip(tasks).max().orElse(0);
    figure("longest_task_ms.interacting", longestMs, "ms");
    figure("interaction_ms.p98", Figure.quantile(0.98, interactionsMs), "ms");
  }

  private static double p99(double[] ms) {
    return Figure.quantile(0.99, ms);
  }

  private static double median(List<Double> values) {
    return Figure.median(values.stream().mapToDouble(d -> d).toArray());
  }

  private void figure(String name, double value, String unit) {
    var figure = new Figure("ui." + gpus + "." + name, value, unit);
    print(Figure.table(List.of(figure)).strip());
    figures.add(figure);
  }

  private static void print(String step) {
    System.err.println(step);
  }
}
