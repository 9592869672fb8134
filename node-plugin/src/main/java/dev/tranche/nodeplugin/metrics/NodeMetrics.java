package dev.tranche.nodeplugin.metrics;

import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.Load;
import dev.tranche.nodeplugin.nvml.Gpm;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.GpuReading;
import dev.tranche.nodeplugin.usage.ContainerName;
import dev.tranche.nodeplugin.usage.ContainerUse;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.meters.Failures;
import dev.tranche.process.meters.Meters;
import dev.tranche.process.meters.RowCollector;
import dev.tranche.process.ops.OpsPort;
import dev.tranche.process.ops.Probe;
import dev.tranche.process.settings.HostPort;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.prometheus.metrics.model.snapshots.Labels;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;

/**
 * Metrics of GPUs and containers; other classes add theirs. Confined to the event loop, but for
 * {@link #count}.
 */
public final class NodeMetrics extends Meters {
  private static final Duration[] RPC_BUCKETS = bucketsMs(0.25, 1, 5, 20, 50, 200, 1_000);

  private final PrometheusMeterRegistry registry;
  private List<GpuStatus> gpus = List.of();
  private List<ContainerRow> containers = List.of();

  /**
   * One container on one GPU.
   *
   * @param grantedBytes 0 for a container that holds no part of the GPU
   * @param chargedBytes what the driver counts against the container's memory limit; negative
   *     without a limit
   */
  public record ContainerRow(
      GpuInfo gpu, ContainerUse use, long grantedBytes, long chargedBytes, boolean overuse) {}

  public NodeMetrics() {
    PrometheusMeterRegistry meters = Meters.prometheusRegistry();
    super(meters, "tranche.node");
    this.registry = meters;
    RowCollector<GpuStatus> gauges = gpuGauges();
    addGpmGauges(gauges);
    registry.getPrometheusRegistry().register(gauges);
  }

  public String scrape() {
    return registry.scrape();
  }

  /**
   * Serves /metrics, /healthz and /readyz.
   *
   * @param transport of this Vert.x
   */
  public Future<HttpServer> serve(
      Vertx vertx, LimitedTransport transport, HostPort at, Supplier<Probe> readiness) {
    var port = new ListeningPort(vertx, transport, "metrics", ConnectionLimits.METRICS);
    connections(port);
    return new OpsPort(this::scrape, readiness).listen(port, at);
  }

  /** Returns where unexpected errors of one GPU, or in one task, are counted. */
  public Failures failures() {
    return new Failures(
        this,
        "Unexpected errors that ended the work on one GPU, or one task; the rest went on.",
        Failures.GPU,
        Failures.TASK);
  }

  /** Updates the GPUs. */
  public void gpus(List<GpuStatus> now) {
    gpus = now;
  }

  /** Updates the containers that use GPUs. */
  public void containers(List<ContainerRow> now) {
    containers = now;
  }

  private RowCollector<GpuStatus> gpuGauges() {
    return new RowCollector<GpuStatus>(() -> gpus, s -> labels(s.info()))
        .gauge(
            "tranche_gpu_memory_total_bytes",
            "Memory of the GPU.",
            s -> s.info().memoryTotalBytes() == 0 ? Double.NaN : s.info().memoryTotalBytes())
        .gauge(
            "tranche_gpu_memory_reserved_bytes",
            "Memory reserved by the driver.",
            s -> s.info().memoryReservedBytes())
        .gauge(
            "tranche_gpu_memory_used_bytes",
            "Memory used by processes, the driver's reserve not included.",
            s -> sensor(s, GpuReading::memoryUsedBytes))
        .gauge(
            "tranche_gpu_sm_utilization_ratio",
            "Part of the last period in which a kernel was running, 0 to 1.",
            s -> read(s, l -> l.now().smPercent() / 100.0))
        .gauge(
            "tranche_gpu_sm_utilization_mean_ratio",
            "Exponentially weighted mean of the utilization with a half-life of 10 s, 0 to 1.",
            s -> read(s, l -> l.smMeanPercent() / 100.0))
        .gauge(
            "tranche_gpu_processes",
            "Compute processes on the GPU.",
            s -> read(s, l -> l.now().processes()))
        .gauge(
            "tranche_gpu_healthy",
            "1 if the GPU may take new pods, else 0.",
            s -> s.health().healthy() ? 1 : 0)
        .gauge(
            "tranche_gpu_temperature_celsius",
            "Temperature of the GPU.",
            s -> sensor(s, GpuReading::temperatureCelsius))
        .gauge(
            "tranche_gpu_power_watts",
            "Power that the GPU draws.",
            s -> sensor(s, GpuReading::powerMilliwatts) / 1000)
        .gauge(
            "tranche_gpu_throttle_reasons",
            "NVML's bits for why the clocks are below the requested ones; 0: they are not.",
            s -> sensor(s, GpuReading::throttling))
        .gauge(
            "tranche_gpu_ecc_uncorrected_errors",
            "Uncorrectable memory errors since the driver was loaded.",
            s -> sensor(s, GpuReading::eccUncorrected));
  }

  private static void addGpmGauges(RowCollector<GpuStatus> gauges) {
    gauges
        .gauge(
            "tranche_gpu_gpm_available",
            "1 if NVML's GPU performance monitoring (GPM) gives values, else 0.",
            s -> read(s, l -> l.now().gpm().equals(Gpm.UNKNOWN) ? 0 : 1))
        .gauge(
            "tranche_gpu_sm_active_ratio",
            "Part of the SMs that were busy, 0 to 1.",
            s -> gpm(s, Gpm::smPercent))
        .gauge(
            "tranche_gpu_sm_occupancy_ratio",
            "Active warps of all that the SMs can have, 0 to 1.",
            s -> gpm(s, Gpm::smOccupancyPercent))
        .gauge(
            "tranche_gpu_tensor_active_ratio",
            "Part of the time in which tensor cores worked, 0 to 1.",
            s -> gpm(s, Gpm::tensorPercent))
        .gauge(
            "tranche_gpu_dram_active_ratio",
            "Part of the memory bandwidth that was used, 0 to 1.",
            s -> gpm(s, Gpm::dramPercent));
  }

  /**
   * Shows the containers from now on.
   *
   * @param node this node's name, the label {@code Hostname}
   */
  public void showContainers(String node) {
    registry
        .getPrometheusRegistry()
        .register(
            new RowCollector<ContainerRow>(() -> containers, row -> labels(node, row))
                .gauge(
                    "tranche_container_gpu_memory_used_bytes",
                    "GPU memory used by the container's processes; absent where the driver does not"
                        + " tell.",
                    r -> r.use().memoryUsedBytes() >= 0 ? r.use().memoryUsedBytes() : Double.NaN)
                .gauge(
                    "tranche_container_gpu_memory_charged_bytes",
                    "GPU memory that the driver counts against the container's memory limit.",
                    r -> r.chargedBytes() >= 0 ? r.chargedBytes() : Double.NaN)
                .gauge(
                    "tranche_container_gpu_memory_granted_bytes",
                    "GPU memory granted by the container's replicas.",
                    ContainerRow::grantedBytes)
                .gauge(
                    "tranche_container_gpu_sm_utilization_ratio",
                    "Part of the GPU's time in which a kernel of the container was running, 0 to"
                        + " 1.",
                    r -> r.use().smPercent() / 100)
                .gauge(
                    "tranche_container_gpu_overuse",
                    "1 while the container uses more GPU memory than granted, else 0.",
                    r -> r.overuse() ? 1 : 0));
  }

  // dcgm-exporter's labels, so that dashboards can join both.
  private static Labels labels(GpuInfo gpu) {
    return Labels.of(
        "gpu", Integer.toString(gpu.index()), "UUID", gpu.uuid(), "modelName", gpu.model());
  }

  private static Labels labels(String node, ContainerRow row) {
    ContainerName who = row.use().container();
    return labels(row.gpu())
        .merge(
            Labels.of(
                "Hostname", node,
                "namespace", who.pod().namespace(),
                "pod", who.pod().name(),
                "container", who.name()));
  }

  // Where NVML does not tell, the value is NaN, which is not shown.
  private static double gpm(GpuStatus gpu, ToDoubleFunction<Gpm> percent) {
    return read(gpu, l -> percent.applyAsDouble(l.now().gpm()) / 100);
  }

  private static double sensor(GpuStatus gpu, ToLongFunction<GpuReading> value) {
    double read = read(gpu, l -> value.applyAsLong(l.now()));
    return read == GpuReading.UNKNOWN ? Double.NaN : read;
  }

  // Without a reading the value is NaN, which is not shown.
  private static double read(GpuStatus gpu, ToDoubleFunction<Load> value) {
    return gpu.load() == null ? Double.NaN : value.applyAsDouble(gpu.load());
  }

  /** Counts; any thread may call it. */
  public void count(String name, String help, String... labels) {
    counter(name, help, labels).increment();
  }

  public void rpc(String method, long nanos) {
    timer(
            "tranche.node.kubelet.request.duration",
            "Time to answer a call of the kubelet.",
            RPC_BUCKETS,
            "method",
            method)
        .record(Duration.ofNanos(nanos));
  }
}
