package dev.tranche.nodeplugin.metrics;

import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.usage.ContainerUse;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** Series that come and go with containers, written from the last sample at each scrape. */
public final class ContainerCollector implements MultiCollector {
  private final String node;
  private volatile List<Row> rows = List.of();

  /**
   * One container on one GPU.
   *
   * @param grantedBytes 0 for a container that holds no part of the GPU
   * @param chargedBytes what the driver counts against the container's memory limit; negative
   *     without a limit
   */
  public record Row(
      GpuInfo gpu, ContainerUse use, long grantedBytes, long chargedBytes, boolean overuse) {}

  /**
   * @param node this node's name, the label {@code Hostname}
   */
  public ContainerCollector(String node) {
    this.node = node;
  }

  /** Sets what the next scrape shows. */
  public void update(List<Row> now) {
    rows = List.copyOf(now);
  }

  @Override
  public MetricSnapshots collect() {
    List<Row> now = rows;
    return MetricSnapshots.of(
        gauge(
            now.stream().filter(r -> r.use().memoryUsedBytes() >= 0).toList(),
            "tranche_container_gpu_memory_used_bytes",
            "GPU memory used by the container's processes; absent where the driver does not tell.",
            r -> r.use().memoryUsedBytes()),
        gauge(
            now.stream().filter(r -> r.chargedBytes() >= 0).toList(),
            "tranche_container_gpu_memory_charged_bytes",
            "GPU memory that the driver counts against the container's memory limit.",
            Row::chargedBytes),
        gauge(
            now,
            "tranche_container_gpu_memory_granted_bytes",
            "GPU memory granted by the container's replicas.",
            Row::grantedBytes),
        gauge(
            now.stream().filter(r -> !Double.isNaN(r.use().smPercent())).toList(),
            "tranche_container_gpu_sm_utilization_ratio",
            "Part of the GPU's time in which a kernel of the container was running, 0 to 1.",
            r -> r.use().smPercent() / 100),
        gauge(
            now,
            "tranche_container_gpu_overuse",
            "1 while the container uses more GPU memory than granted, else 0.",
            r -> r.overuse() ? 1 : 0));
  }

  private GaugeSnapshot gauge(
      List<Row> now, String name, String help, ToDoubleFunction<Row> value) {
    var snapshot = GaugeSnapshot.builder().name(name).help(help);
    for (Row row : now) {
      snapshot.dataPoint(
          GaugeDataPointSnapshot.builder()
              .labels(labels(row))
              .value(value.applyAsDouble(row))
              .build());
    }
    return snapshot.build();
  }

  // dcgm-exporter's labels, so that dashboards can join both.
  private Labels labels(Row row) {
    return Labels.of(
        "gpu", Integer.toString(row.gpu().index()),
        "UUID", row.gpu().uuid(),
        "modelName", row.gpu().model(),
        "Hostname", node,
        "namespace", row.use().namespace(),
        "pod", row.use().pod(),
        "container", row.use().container());
  }
}
