package dev.tranche.e2e.bench;

import dev.tranche.e2e.bench.plane.BoundPods;
import dev.tranche.e2e.bench.plane.ControlPlane;
import dev.tranche.e2e.bench.plane.Population;
import dev.tranche.e2e.bench.plane.WaitingPods;
import dev.tranche.e2e.install.Await;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What pods that wait cost their neighbours: how many of these are bound a second, and how soon
 * each, with nobody waiting, with pods that wait for a GPU that there is not, and with the worst
 * that admission lets through; in turns.
 */
final class NeighbourCost {
  private static final int WAITING = 1_000;
  private static final int TURNS = 3;
  private static final int PACED = 100;
  private static final Duration PACE = Duration.ofMillis(100);
  private static final Duration LIMIT = Duration.ofMinutes(5);

  private final ControlPlane plane;
  private final String configuration;
  private final int pods;
  private final Consumer<Map<String, String>> ended;
  private final Map<String, List<Double>> values = new HashMap<>();
  private int runs;

  /**
   * @param configuration of the kube-scheduler
   * @param ended told of pods that are deleted: node by uid
   */
  NeighbourCost(
      ControlPlane plane, String configuration, int pods, Consumer<Map<String, String>> ended) {
    this.plane = plane;
    this.configuration = configuration;
    this.pods = pods;
    this.ended = ended;
  }

  /** The median of all turns, by name. */
  Map<String, Double> measure() throws IOException {
    for (int turn = 0; turn < TURNS; turn++) {
      measure("alone", null);
      for (WaitingPods kind : WaitingPods.values()) {
        measure(kind.name().toLowerCase(Locale.ROOT), kind);
      }
    }
    var medians = new HashMap<String, Double>();
    values.forEach(
        (name, all) ->
            medians.put(
                name, Figure.median(all.stream().mapToDouble(Double::doubleValue).toArray())));
    return medians;
  }

  private void measure(String name, @Nullable WaitingPods kind) throws IOException {
    if (kind != null) {
      kind.create(plane.client(), WAITING);
    }
    plane.startScheduler(configuration);
    try {
      Await.until("the waiting pods to be refused", 300, this::allRefused);
      add(name + ".pods_per_second", rate());
      double[] waitsMs = waitsMs();
      add(name + ".bound_p50_ms", Figure.quantile(0.5, waitsMs));
      add(name + ".bound_p99_ms", Figure.quantile(0.99, waitsMs));
    } finally {
      plane.stopScheduler();
      Population.deletePods(plane.client(), WaitingPods.LABEL);
    }
  }

  private void add(String name, double value) {
    System.err.printf(Locale.ROOT, "  %s %.1f%n", name, value);
    values.computeIfAbsent(name, key -> new ArrayList<>()).add(value);
  }

  /** kube-scheduler says so in a condition. */
  private boolean allRefused() {
    return plane
        .client()
        .pods()
        .inNamespace(Population.NAMESPACE)
        .withLabel(WaitingPods.LABEL)
        .list()
        .getItems()
        .stream()
        .noneMatch(pod -> pod.getStatus().getConditions().isEmpty());
  }

  private double rate() {
    try (var bound = new BoundPods(plane.client(), Population.LABEL)) {
      Population.createPods(plane.client(), "neighbours-" + ++runs, pods);
      double rate = bound.await(pods, LIMIT);
      gone(bound);
      return rate;
    }
  }

  /** From creation to binding, of pods that come one after the other. */
  private double[] waitsMs() {
    var boundNanos = new ConcurrentHashMap<String, Long>();
    var createdNanos = new long[PACED];
    String run = "paced-" + ++runs;
    try (var bound =
        new BoundPods(
            plane.client(),
            Population.LABEL,
            pod -> boundNanos.put(pod.getMetadata().getName(), System.nanoTime()))) {
      for (int i = 0; i < PACED; i++) {
        createdNanos[i] = System.nanoTime();
        Population.createPods(plane.client(), run + "-" + i, 1);
        LockSupport.parkNanos(createdNanos[i] + PACE.toNanos() - System.nanoTime());
      }
      bound.await(PACED, LIMIT);
      Await.until("each to be told", 60, () -> boundNanos.size() == PACED);
      gone(bound);
    }
    var waitsMs = new double[PACED];
    for (int i = 0; i < PACED; i++) {
      long at = boundNanos.getOrDefault("%s-%d-0".formatted(run, i), Long.MAX_VALUE);
      waitsMs[i] = (at - createdNanos[i]) / 1e6;
    }
    return waitsMs;
  }

  private void gone(BoundPods bound) {
    Population.deletePods(plane.client(), Population.LABEL);
    ended.accept(bound.nodes());
  }
}
