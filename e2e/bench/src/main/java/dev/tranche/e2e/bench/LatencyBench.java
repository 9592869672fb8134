package dev.tranche.e2e.bench;

import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/**
 * Measures one pod after the other on a real cluster of three nodes. It takes the time from
 * creation until the pod runs, and reads each component's part from our metrics. Kubernetes and the
 * container take the rest.
 */
final class LatencyBench {
  private static final String NAMESPACE = "default";

  private LatencyBench() {}

  /** One of our timer metrics: the part that exports it, its name, and a label that narrows it. */
  private record Stage(String name, String part, String timer, String label) {}

  private static final List<Stage> STAGES =
      List.of(
          new Stage("webhook", "webhook", "tranche_webhook_admission_duration_seconds", ""),
          verb("filter"),
          verb("prioritize"),
          verb("bind"),
          new Stage(
              "allocate",
              "node-plugin",
              "tranche_node_kubelet_request_duration_seconds",
              "\"Allocate\""));

  private static Stage verb(String verb) {
    return new Stage(
        verb, "extender", "tranche_extender_verb_duration_seconds", "\"" + verb + "\"");
  }

  static List<Figure> run(Artifacts artifacts, boolean quick) {
    var nodes = new LinkedHashMap<String, List<Model>>();
    for (String node : List.of("one", "two", "three")) {
      nodes.put(node, List.of(Model.T4, Model.T4));
    }
    var plan =
        new Tranche.Plan(
            artifacts.root().resolve("target/latency"),
            nodes,
            gpus -> {},
            Map.of("webhook.replicas", 1, "extender.replicas", 1),
            false,
            step -> System.err.println(step));
    try (Tranche tranche = Tranche.start(artifacts, plan)) {
      // The first pods run code that the JVM has not compiled yet, which is not typical.
      run(tranche, "warm", quick ? 5 : 20);
      var before = sums(tranche);
      double[] totalMs = run(tranche, "pod", quick ? 8 : 30);
      return figures(totalMs, before, sums(tranche));
    }
  }

  private static double[] run(Tranche tranche, String prefix, int pods) {
    double[] totalMs = new double[pods];
    for (int i = 0; i < pods; i++) {
      Pod pod = PodSpecs.fraction(prefix + i, "0.2").build();
      long startNanos = System.nanoTime();
      var created = tranche.client().pods().inNamespace(NAMESPACE).resource(pod);
      created.create();
      created.waitUntilCondition(LatencyBench::runs, 60, TimeUnit.SECONDS);
      totalMs[i] = (System.nanoTime() - startNanos) / 1e6;
      created.withGracePeriod(0).delete();
      created.waitUntilCondition(Objects::isNull, 60, TimeUnit.SECONDS);
    }
    return totalMs;
  }

  private static boolean runs(Pod pod) {
    return pod != null && "Running".equals(pod.getStatus().getPhase());
  }

  private static List<Figure> figures(
      double[] totalMs, Map<Stage, double[]> before, Map<Stage, double[]> after) {
    var figures = new ArrayList<Figure>();
    figures.add(new Figure("latency.total_ms", Figure.median(totalMs), "ms"));
    for (Stage stage : STAGES) {
      double[] from = Objects.requireNonNull(before.get(stage));
      double[] to = Objects.requireNonNull(after.get(stage));
      double meanMs = (to[0] - from[0]) / Math.max(1, to[1] - from[1]) * 1e3;
      figures.add(new Figure("latency." + stage.name() + "_ms", meanMs, "ms"));
    }
    return figures;
  }

  /** Returns the seconds and the number of calls so far, by stage. */
  private static Map<Stage, double[]> sums(Tranche tranche) {
    var sums = new LinkedHashMap<Stage, double[]>();
    for (Stage stage : STAGES) {
      double[] sum = new double[2];
      for (Pod pod : tranche.parts(stage.part())) {
        List<String> lines = tranche.metrics(pod).lines().toList();
        sum[0] += sum(lines, stage.timer() + "_sum", stage.label());
        sum[1] += sum(lines, stage.timer() + "_count", stage.label());
      }
      sums.put(stage, sum);
    }
    return sums;
  }

  private static double sum(List<String> lines, String name, String label) {
    return lines.stream()
        .filter(line -> line.startsWith(name + "{") || line.startsWith(name + " "))
        .filter(line -> line.contains(label))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }
}
