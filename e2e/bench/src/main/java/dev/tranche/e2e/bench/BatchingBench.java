package dev.tranche.e2e.bench;

import dev.tranche.e2e.bench.plane.BoundPods;
import dev.tranche.e2e.bench.plane.ClusterObjects;
import dev.tranche.e2e.bench.plane.ExtenderProcess;
import dev.tranche.e2e.bench.plane.SimulatedNodes;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.plane.ControlPlane;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Measures what it costs that kube-scheduler does not batch equal pods if it has an extender. It
 * batches none either in its default configuration, because of the default topology spread.
 */
final class BatchingBench {
  private static final Duration LIMIT = Duration.ofMinutes(15);
  private static final int FOREIGN_PODS = 10_000;
  private static final int WARM_RUNS = 5;

  /** Lets kube-scheduler batch pods: without it all pods have a topology spread constraint. */
  private static final String WITHOUT_SPREAD =
      """
      profiles:
        - schedulerName: default-scheduler
          pluginConfig:
            - name: PodTopologySpread
              args: {defaultingType: List, defaultConstraints: []}
      """;

  /** An extender for a resource that no pod requests, so it is never called. */
  private static final String UNCALLED =
      """
      extenders:
        - urlPrefix: http://127.0.0.1:9/
          filterVerb: filter
          nodeCacheCapable: true
          managedResources: [{name: example.com/none, ignoredByScheduler: false}]
      """;

  /** What kube-scheduler's log has once for each node that an earlier pod's decision gave. */
  private static final String HINT = "provided node hint";

  private enum Mix {
    EQUAL(1),
    MIXED(50);

    private final int apps;

    Mix(int apps) {
      this.apps = apps;
    }
  }

  private final Artifacts artifacts;
  private final int nodes;
  private final int pods;
  private final Path folder;
  private final ControlPlane plane;
  private final List<Figure> figures = new ArrayList<>();
  private int runs;

  private BatchingBench(Artifacts artifacts, int nodes, int pods) throws IOException {
    this.artifacts = artifacts;
    this.nodes = nodes;
    this.pods = pods;
    this.folder = Files.createTempDirectory("tranche-batching");
    this.plane = new ControlPlane(artifacts.kubernetes(), folder);
  }

  static List<Figure> run(Artifacts artifacts, int nodes, int pods) throws Exception {
    return new BatchingBench(artifacts, nodes, pods).measure();
  }

  private List<Figure> measure() throws Exception {
    try (plane) {
      System.err.printf("creating %d nodes and %d foreign pods%n", nodes, FOREIGN_PODS);
      ClusterObjects.createNodes(plane.client(), nodes);
      ClusterObjects.createForeignPods(plane.client(), FOREIGN_PODS, nodes);
      for (Mix mix : Mix.values()) {
        measured(mix, "", "spread");
        measured(mix, WITHOUT_SPREAD, "batched");
        measured(mix, WITHOUT_SPREAD + UNCALLED, "uncalled");
      }
      ours();
      return figures;
    }
  }

  private void ours() throws IOException {
    try (var extender = new ExtenderProcess(artifacts.root(), plane, folder.resolve("ours.log"))) {
      Await.until("the extender to be ready", 300, extender::ready);
      try (var streams =
          new SimulatedNodes(
              plane.client(),
              extender.streamPort(),
              ClusterObjects.gpus(nodes),
              (node, assignment) -> {})) {
        Await.until("every node to be heard", 300, () -> extender.hasStreams(nodes));
        String configuration = WITHOUT_SPREAD + extender.schedulerExtender();
        for (int i = 0; i < WARM_RUNS; i++) {
          bind(Mix.EQUAL, configuration).nodes().forEach((uid, node) -> streams.endPod(node, uid));
        }
        for (Mix mix : Mix.values()) {
          measured(mix, configuration, "ours")
              .nodes()
              .forEach((uid, node) -> streams.endPod(node, uid));
        }
      }
    }
  }

  /** What became of the pods of one run. */
  private record Run(
      double podsPerSecond, double schedulerCpuS, long batched, Map<String, String> nodes) {}

  private Run measured(Mix mix, String configuration, String name) throws IOException {
    Run run = bind(mix, configuration);
    String prefix = "batching.%s.%s.".formatted(mix.name().toLowerCase(Locale.ROOT), name);
    var measured =
        List.of(
            new Figure(prefix + "pods_per_second", run.podsPerSecond(), "pods/s"),
            new Figure(
                prefix + "scheduler_cpu_s_per_1000_pods", run.schedulerCpuS() * 1_000 / pods, "s"),
            new Figure(prefix + "batched_percent", run.batched() * 100.0 / pods, "%"));
    System.err.print(Figure.table(measured));
    figures.addAll(measured);
    return run;
  }

  /** The pods exist before the scheduler starts, and are gone when this returns. */
  private Run bind(Mix mix, String configuration) throws IOException {
    ClusterObjects.createPods(plane.client(), "run-" + ++runs, pods, mix.apps);
    try (var bound = new BoundPods(plane.client(), ClusterObjects.LABEL)) {
      plane.startScheduler(
          Path.of(plane.program("kube-scheduler")), configuration, "--vmodule=batch=3");
      double podsPerSecond = bound.await(pods, LIMIT);
      double cpuS = plane.schedulerCpu().toMillis() / 1e3;
      plane.stopScheduler();
      ClusterObjects.deletePods(plane.client(), ClusterObjects.LABEL);
      return new Run(podsPerSecond, cpuS, hints(), bound.nodes());
    }
  }

  private long hints() throws IOException {
    try (Stream<String> lines = Files.lines(plane.schedulerLog())) {
      return lines.filter(line -> line.contains(HINT)).count();
    }
  }
}
