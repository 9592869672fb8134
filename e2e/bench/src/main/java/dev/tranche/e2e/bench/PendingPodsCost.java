package dev.tranche.e2e.bench;

import dev.tranche.e2e.bench.plane.BoundPods;
import dev.tranche.e2e.bench.plane.ClusterObjects;
import dev.tranche.e2e.bench.plane.WaitingPods;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.plane.ControlPlane;
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
 * Measures what pending pods cost their neighbours: how many of those are bound per second, and how
 * soon each is. It takes turns between no pending pods, pods that wait for a GPU that does not
 * exist, and the worst pods that admission allows.
 */
final class PendingPodsCost {
  private static final int WAITING = 1_000;
  private static final int TURNS = 3;
  private static final int PACED = 100;
  private static final Duration PACE = Duration.ofMillis(100);
  private static final Duration LIMIT = Duration.ofMinutes(5);

  private final ControlPlane plane;
  private final String configuration;
  private final int pods;
  private final Consumer<Map<String, String>> onDeleted;
  private final Map<String, List<Double>> values = new HashMap<>();
  private int runs;

  /**
   * @param configuration the configuration of the kube-scheduler
   * @param onDeleted is called with pods that were deleted, as a map from uid to node
   */
  PendingPodsCost(
      ControlPlane plane, String configuration, int pods, Consumer<Map<String, String>> onDeleted) {
    this.plane = plane;
    this.configuration = configuration;
    this.pods = pods;
    this.onDeleted = onDeleted;
  }

  /** Returns the median of all turns, by figure. */
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
      ClusterObjects.deletePods(plane.client(), WaitingPods.LABEL);
    }
  }

  private void add(String name, double value) {
    System.err.printf(Locale.ROOT, "  %s %.1f%n", name, value);
    values.computeIfAbsent(name, key -> new ArrayList<>()).add(value);
  }

  /**
   * Returns whether kube-scheduler has refused all waiting pods, which it reports as a condition.
   */
  private boolean allRefused() {
    return plane
        .client()
        .pods()
        .inNamespace(ClusterObjects.NAMESPACE)
        .withLabel(WaitingPods.LABEL)
        .list()
        .getItems()
        .stream()
        .noneMatch(pod -> pod.getStatus().getConditions().isEmpty());
  }

  private double rate() {
    try (var bound = new BoundPods(plane.client(), ClusterObjects.LABEL)) {
      ClusterObjects.createPods(plane.client(), "neighbours-" + ++runs, pods);
      double rate = bound.await(pods, LIMIT);
      deletePods(bound);
      return rate;
    }
  }

  /** Measures the time from creation to binding, of pods that are created one after the other. */
  private double[] waitsMs() {
    var boundNanos = new ConcurrentHashMap<String, Long>();
    var createdNanos = new long[PACED];
    String run = "paced-" + ++runs;
    try (var bound =
        new BoundPods(
            plane.client(),
            ClusterObjects.LABEL,
            pod -> boundNanos.put(pod.getMetadata().getName(), System.nanoTime()))) {
      for (int i = 0; i < PACED; i++) {
        createdNanos[i] = System.nanoTime();
        ClusterObjects.createPods(plane.client(), run + "-" + i, 1);
        LockSupport.parkNanos(createdNanos[i] + PACE.toNanos() - System.nanoTime());
      }
      bound.await(PACED, LIMIT);
      Await.until("each to be answered", 60, () -> boundNanos.size() == PACED);
      deletePods(bound);
    }
    var waitsMs = new double[PACED];
    for (int i = 0; i < PACED; i++) {
      long at = boundNanos.getOrDefault("%s-%d-0".formatted(run, i), Long.MAX_VALUE);
      waitsMs[i] = (at - createdNanos[i]) / 1e6;
    }
    return waitsMs;
  }

  private void deletePods(BoundPods bound) {
    ClusterObjects.deletePods(plane.client(), ClusterObjects.LABEL);
    onDeleted.accept(bound.nodes());
  }
}
