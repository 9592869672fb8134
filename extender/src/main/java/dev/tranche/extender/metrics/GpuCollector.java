package dev.tranche.extender.metrics;

import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.summingLong;
import static java.util.stream.Collectors.toSet;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.readapi.PodMetrics;
import dev.tranche.extender.readapi.PodMetrics.Share;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.process.meters.RowCollector;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/**
 * Collects the series that come and go with GPUs. Each scrape writes them from one snapshot, which
 * may have tens of thousands of GPUs.
 */
public final class GpuCollector implements MultiCollector {
  /** Whoever may create namespaces could fill Prometheus. */
  private static final int NAMESPACES_MAX = 50;

  private final boolean namesPods;
  private final WaitingReasons reasons;
  private final List<RowCollector<?>> collectors =
      List.of(
          new RowCollector<>(() -> shown(true), Gpu::labels)
              .gauge(
                  "tranche_extender_gpu_replicas",
                  "Replicas that the GPU is split into.",
                  g -> g.view().replicas())
              .gauge(
                  "tranche_extender_gpu_free_replicas",
                  "Replicas that no pod holds.",
                  g -> g.view().freeReplicas())
              .gauge(
                  "tranche_extender_gpu_sm_load_ratio",
                  "Effective SM load for placement: the measured mean, plus shares that are too"
                      + " recent to be measured. Absent without a recent reading.",
                  g -> g.view().measured() ? g.view().smLoad() : Double.NaN)
              .gauge(
                  "tranche_extender_gpu_memory_free_bytes",
                  "Memory that is neither granted nor measured in use.",
                  g -> g.view().memoryFreeBytes())
              .gauge(
                  "tranche_extender_gpu_reading_age_seconds",
                  "Age of the GPU's last load reading; absent without one.",
                  g -> g.ageMs() >= 0 ? g.ageMs() / 1_000.0 : Double.NaN),
          new RowCollector<>(() -> shown(false), Gpu::labels)
              .gauge(
                  "tranche_extender_gpu_measured",
                  "1 if the load is recent enough for placement, else 0: placement then uses only"
                      + " grants.",
                  g -> g.view().measured() ? 1 : 0),
          new RowCollector<>(
                  () -> this.latest.holdsByStage().entrySet(),
                  stage -> Labels.of("stage", stage.getKey().name().toLowerCase(Locale.ROOT)))
              .gauge(
                  "tranche_extender_holds",
                  "Holds of pods on GPUs, by stage; confirmed ones are bound and read back.",
                  stage -> stage.getValue()),
          PodMetrics.granted(this::shares),
          new RowCollector<>(
                  () -> waiting().entrySet(),
                  of -> Labels.of("namespace", of.getKey().get(0), "reason", of.getKey().get(1)))
              .gauge(
                  "tranche_extender_waiting_pods",
                  "Pods that wait for a GPU, by namespace and reason. Beyond 50 namespaces, those"
                      + " with the fewest are counted together as (others).",
                  of -> of.getValue()),
          new RowCollector<>(
                  () -> unplaced().entrySet(), of -> Labels.of("namespace", of.getKey().get(0)))
              .gauge(
                  "tranche_extender_unplaced_pods",
                  "Pods on a node whose GPU is not known, by namespace. Each counts against every"
                      + " GPU of its node. Beyond 50 namespaces, those with the fewest are counted"
                      + " together as (others).",
                  of -> of.getValue()));

  private final BooleanSupplier allSeries;
  private volatile Inspection latest = Inspection.NONE;

  /**
   * @param allSeries whether to show all series of each GPU. For 40,000 GPUs they are 240,000, so
   *     one replica of the extender is enough. Otherwise only {@code tranche_extender_gpu_measured}
   *     is shown, for GPUs where it is 0.
   * @param namesPods whether series may name pods
   */
  public GpuCollector(WaitingReasons reasons, BooleanSupplier allSeries, boolean namesPods) {
    this.reasons = reasons;
    this.allSeries = allSeries;
    this.namesPods = namesPods;
  }

  private record Gpu(String node, GpuView view, long ageMs) {
    Labels labels() {
      return Labels.of(
          "node", node,
          "gpu", Integer.toString(view.index()),
          "UUID", view.uuid(),
          "modelName", view.model());
    }
  }

  /** Sets what the next scrape shows. */
  public void update(Inspection inspection) {
    latest = inspection;
  }

  @Override
  public MetricSnapshots collect() {
    var all = MetricSnapshots.builder();
    collectors.forEach(collector -> collector.collect().forEach(all::metricSnapshot));
    return all.build();
  }

  /**
   * @param measured whether GPUs that are measured are shown although others have all series
   */
  private List<Gpu> shown(boolean measured) {
    Inspection now = latest;
    boolean all = allSeries.getAsBoolean();
    Stream<Gpu> gpus =
        now.nodes().stream()
            .flatMap(
                node ->
                    node.gpus().stream()
                        .map(gpu -> new Gpu(node.name(), gpu.view(), now.ageMs(node, gpu))));
    return gpus.filter(gpu -> all || (!measured && !gpu.view().measured())).toList();
  }

  private List<Share> shares() {
    return namesPods && allSeries.getAsBoolean() ? Share.of(latest) : List.of();
  }

  private Map<List<String>, Long> unplaced() {
    return counted(
        latest.nodes().stream()
            .flatMap(node -> node.unplaced().stream())
            .map(hold -> List.of(hold.namespace())));
  }

  private Map<List<String>, Long> waiting() {
    return counted(reasons.waiting(latest));
  }

  /**
   * @param pods labels, of which the first is the namespace
   */
  private static Map<List<String>, Long> counted(Stream<List<String>> pods) {
    Map<List<String>, Long> counts = pods.collect(groupingBy(labels -> labels, counting()));
    Map<String, Long> namespaces =
        counts.entrySet().stream()
            .collect(groupingBy(of -> of.getKey().getFirst(), summingLong(Map.Entry::getValue)));
    Set<String> most =
        namespaces.entrySet().stream()
            .sorted(
                Map.Entry.<String, Long>comparingByValue()
                    .reversed()
                    .thenComparing(Map.Entry.comparingByKey()))
            .limit(NAMESPACES_MAX)
            .map(Map.Entry::getKey)
            .collect(toSet());
    var shown = new HashMap<List<String>, Long>();
    counts.forEach(
        (labels, count) -> {
          var its = new ArrayList<>(labels);
          if (!most.contains(labels.getFirst())) {
            its.set(0, "(others)");
          }
          shown.merge(List.copyOf(its), count, Long::sum);
        });
    return shown;
  }
}
