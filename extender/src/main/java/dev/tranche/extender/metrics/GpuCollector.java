package dev.tranche.extender.metrics;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.placement.GpuView;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/**
 * Collects the series that come and go with GPUs. Each scrape writes them from one snapshot, since
 * meters for tens of thousands of GPUs would never be freed.
 */
public final class GpuCollector implements MultiCollector {
  private static final String NAMESPACE = "namespace";

  /** Whoever may create namespaces could fill Prometheus. */
  private static final int NAMESPACES_MAX = 50;

  private volatile Latest latest = new Latest(new Inspection(List.of(), Map.of(), 0), true);

  /**
   * What the next scrape shows.
   *
   * @param allSeries whether to show all series of each GPU; else only which GPUs are not measured
   */
  private record Latest(Inspection inspection, boolean allSeries) {}

  /**
   * Sets what the next scrape shows.
   *
   * @param allSeries whether to show all series of each GPU. For 40,000 GPUs they are 240,000, so
   *     one replica of the extender is enough. Otherwise only {@code tranche_extender_gpu_measured}
   *     is shown, for GPUs where it is 0.
   */
  public void update(Inspection inspection, boolean allSeries) {
    latest = new Latest(inspection, allSeries);
  }

  @Override
  public MetricSnapshots collect() {
    Latest shown = latest;
    List<Labelled> gpus = labelled(shown.inspection());
    List<Labelled> now = shown.allSeries() ? gpus : List.of();
    List<Labelled> gpusWithMeasured =
        shown.allSeries() ? gpus : gpus.stream().filter(g -> !g.view().measured()).toList();
    return MetricSnapshots.builder()
        .metricSnapshot(
            gauge(
                now,
                "tranche_extender_gpu_replicas",
                "Replicas that the GPU is split into.",
                g -> g.view().replicas()))
        .metricSnapshot(
            gauge(
                now,
                "tranche_extender_gpu_free_replicas",
                "Replicas that no pod holds.",
                g -> g.view().freeReplicas()))
        .metricSnapshot(
            gauge(
                now.stream().filter(g -> g.view().measured()).toList(),
                "tranche_extender_gpu_sm_load_ratio",
                "Effective SM load for placement: the measured mean, plus shares that are too"
                    + " recent to be measured. Absent without a recent reading.",
                g -> g.view().smLoad()))
        .metricSnapshot(
            gauge(
                now,
                "tranche_extender_gpu_memory_free_bytes",
                "Memory that is neither granted nor measured in use.",
                g -> g.view().memoryFreeBytes()))
        .metricSnapshot(
            gauge(
                now.stream().filter(g -> g.ageMs() >= 0).toList(),
                "tranche_extender_gpu_reading_age_seconds",
                "Age of the GPU's last load reading; absent without one.",
                g -> g.ageMs() / 1_000.0))
        .metricSnapshot(
            gauge(
                gpusWithMeasured,
                "tranche_extender_gpu_measured",
                "1 if the load is recent enough for placement, else 0: placement then uses only"
                    + " grants.",
                g -> g.view().measured() ? 1 : 0))
        .metricSnapshot(holds(shown.inspection()))
        .metricSnapshot(unplaced(shown.inspection()))
        .build();
  }

  /** A GPU with its labels. All gauges share them, since they take most of the memory. */
  private record Labelled(Labels labels, Inspection.Gpu gpu, long ageMs) {
    GpuView view() {
      return gpu.view();
    }
  }

  private static List<Labelled> labelled(Inspection now) {
    var labelled = new ArrayList<Labelled>();
    for (Inspection.Node node : now.nodes()) {
      for (Inspection.Gpu gpu : node.gpus()) {
        var view = gpu.view();
        Labels labels =
            Labels.of(
                "node", node.name(),
                "gpu", Integer.toString(view.index()),
                "uuid", view.uuid(),
                "model", view.model());
        labelled.add(new Labelled(labels, gpu, now.ageMs(node, gpu)));
      }
    }
    return labelled;
  }

  private static GaugeSnapshot gauge(
      List<Labelled> now, String name, String help, ToDoubleFunction<Labelled> value) {
    var snapshot = GaugeSnapshot.builder().name(name).help(help);
    now.forEach(g -> snapshot.dataPoint(point(g.labels(), value.applyAsDouble(g))));
    return snapshot.build();
  }

  private static GaugeSnapshot holds(Inspection now) {
    var snapshot =
        GaugeSnapshot.builder()
            .name("tranche_extender_holds")
            .help("Holds of pods on GPUs, by stage; confirmed ones are bound and read back.");
    now.holdsByStage()
        .forEach((stage, count) -> snapshot.dataPoint(point(Labels.of("stage", stage), count)));
    return snapshot.build();
  }

  private static GaugeSnapshot unplaced(Inspection now) {
    var snapshot =
        GaugeSnapshot.builder()
            .name("tranche_extender_unplaced_pods")
            .help(
                "Pods on a node whose GPU is not known, by namespace. Each counts against every GPU"
                    + " of its node. Beyond 50 namespaces, those with the fewest are counted"
                    + " together as (others).");
    Map<String, Long> pods =
        now.nodes().stream()
            .flatMap(node -> node.unplaced().stream())
            .collect(Collectors.groupingBy(Hold::namespace, Collectors.counting()));
    List<Map.Entry<String, Long>> most =
        pods.entrySet().stream()
            .sorted(
                Map.Entry.<String, Long>comparingByValue()
                    .reversed()
                    .thenComparing(Map.Entry.comparingByKey()))
            .toList();
    int others = most.stream().skip(NAMESPACES_MAX).mapToInt(of -> of.getValue().intValue()).sum();
    most.stream()
        .limit(NAMESPACES_MAX)
        .forEach(
            of ->
                snapshot.dataPoint(
                    point(Labels.of(NAMESPACE, of.getKey()), of.getValue().doubleValue())));
    if (others > 0) {
      snapshot.dataPoint(point(Labels.of(NAMESPACE, "(others)"), (double) others));
    }
    return snapshot.build();
  }

  private static GaugeDataPointSnapshot point(Labels labels, double value) {
    return GaugeDataPointSnapshot.builder().labels(labels).value(value).build();
  }
}
