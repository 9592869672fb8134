package dev.tranche.nodeplugin.metrics;

import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.load.Load;
import dev.tranche.nodeplugin.nvml.Gpm;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.GpuReading;
import dev.tranche.process.meters.Meters;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.prometheus.metrics.model.registry.MultiCollector;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;

/** All metrics of the node plugin, each with its unit and help. Confined to the event loop. */
public final class NodeMetrics extends Meters {
  private static final Duration[] RPC_BUCKETS = bucketsMs(0.25, 1, 5, 20, 50, 200, 1_000);

  private final PrometheusMeterRegistry registry;
  private final Map<String, GpuStatus> gpus = new HashMap<>();
  private final Set<String> registeredUuids = new HashSet<>();

  public NodeMetrics() {
    this(new PrometheusMeterRegistry(PrometheusConfig.DEFAULT));
  }

  private NodeMetrics(PrometheusMeterRegistry registry) {
    super(registry, "tranche.node");
    this.registry = registry;
  }

  public String scrape() {
    return registry.scrape();
  }

  /** Updates the GPUs; a GPU is shown from its first sample on. */
  public void gpus(List<GpuStatus> now) {
    now.forEach(gpu -> gpus.put(gpu.info().uuid(), gpu));
    now.stream()
        .filter(gpu -> registeredUuids.add(gpu.info().uuid()))
        .forEach(gpu -> registerGauges(gpu.info()));
  }

  /** Registers a collector that creates its own series. */
  public void collect(MultiCollector collector) {
    registry.getPrometheusRegistry().register(collector);
  }

  private void registerGauges(GpuInfo gpu) {
    gpuGauge(
        "tranche.gpu.memory.total.bytes",
        "Memory of the GPU.",
        gpu,
        s -> s.info().memoryTotalBytes() == 0 ? Double.NaN : s.info().memoryTotalBytes());
    gpuGauge(
        "tranche.gpu.memory.reserved.bytes",
        "Memory reserved by the driver.",
        gpu,
        s -> s.info().memoryReservedBytes());
    gpuGauge(
        "tranche.gpu.memory.used.bytes",
        "Memory used by processes, the driver's reserve not included.",
        gpu,
        s -> sensor(s, GpuReading::memoryUsedBytes));
    gpuGauge(
        "tranche.gpu.sm.utilization.ratio",
        "Part of the last period in which a kernel was running, 0 to 1.",
        gpu,
        s -> read(s, l -> l.now().smPercent() / 100.0));
    gpuGauge(
        "tranche.gpu.sm.utilization.mean.ratio",
        "Exponentially weighted mean of the utilization with a half-life of 10 s, 0 to 1.",
        gpu,
        s -> read(s, l -> l.smMeanPercent() / 100.0));
    registerGpmGauges(gpu);
    gpuGauge(
        "tranche.gpu.processes",
        "Compute processes on the GPU.",
        gpu,
        s -> read(s, l -> l.now().processes()));
    registerSensorGauges(gpu);
    gpuGauge(
        "tranche.gpu.healthy",
        "1 if the GPU may take new pods, else 0.",
        gpu,
        s -> s.health().healthy() ? 1 : 0);
  }

  private void registerGpmGauges(GpuInfo gpu) {
    gpuGauge(
        "tranche.gpu.gpm.available",
        "1 if NVML's GPU performance monitoring (GPM) gives values, else 0.",
        gpu,
        s -> read(s, l -> l.now().gpm() instanceof Gpm.Values ? 1 : 0));
    gpuGauge(
        "tranche.gpu.sm.active.ratio",
        "Part of the SMs that were busy, 0 to 1.",
        gpu,
        s -> gpm(s, Gpm.Values::smPercent));
    gpuGauge(
        "tranche.gpu.sm.occupancy.ratio",
        "Active warps of all that the SMs can have, 0 to 1.",
        gpu,
        s -> gpm(s, Gpm.Values::smOccupancyPercent));
    gpuGauge(
        "tranche.gpu.tensor.active.ratio",
        "Part of the time in which tensor cores worked, 0 to 1.",
        gpu,
        s -> gpm(s, Gpm.Values::tensorPercent));
    gpuGauge(
        "tranche.gpu.dram.active.ratio",
        "Part of the memory bandwidth that was used, 0 to 1.",
        gpu,
        s -> gpm(s, Gpm.Values::dramPercent));
    gpuGauge(
        "tranche.gpu.activity.mean.ratio",
        "Exponentially weighted mean of the larger of SM activity and memory bandwidth with a"
            + " half-life of 10 s, 0 to 1.",
        gpu,
        s -> read(s, Load::activityMeanPercent) / 100);
  }

  // Where NVML does not tell, the value is NaN, never 0.
  private static double gpm(GpuStatus gpu, ToDoubleFunction<Gpm.Values> percent) {
    return read(
        gpu,
        l ->
            l.now().gpm() instanceof Gpm.Values values
                ? percent.applyAsDouble(values) / 100
                : Double.NaN);
  }

  private void registerSensorGauges(GpuInfo gpu) {
    gpuGauge(
        "tranche.gpu.temperature.celsius",
        "Temperature of the GPU.",
        gpu,
        s -> sensor(s, GpuReading::temperatureCelsius));
    gpuGauge(
        "tranche.gpu.power.watts",
        "Power that the GPU draws.",
        gpu,
        s -> sensor(s, GpuReading::powerMilliwatts) / 1000);
    gpuGauge(
        "tranche.gpu.throttle.reasons",
        "NVML's bits for why the clocks are below the requested ones; 0: they are not.",
        gpu,
        s -> sensor(s, GpuReading::throttling));
    gpuGauge(
        "tranche.gpu.ecc.uncorrected.errors",
        "Uncorrectable memory errors since the driver was loaded.",
        gpu,
        s -> sensor(s, GpuReading::eccUncorrected));
  }

  private static double sensor(GpuStatus gpu, ToLongFunction<GpuReading> value) {
    double read = read(gpu, l -> value.applyAsLong(l.now()));
    return read == GpuReading.UNKNOWN ? Double.NaN : read;
  }

  // Without a reading the value is NaN, never 0.
  private static double read(GpuStatus gpu, ToDoubleFunction<Load> value) {
    return gpu.load() == null ? Double.NaN : value.applyAsDouble(gpu.load());
  }

  private void gpuGauge(String name, String help, GpuInfo gpu, ToDoubleFunction<GpuStatus> value) {
    Supplier<Number> now =
        () -> {
          GpuStatus status = gpus.get(gpu.uuid());
          return status == null ? Double.NaN : value.applyAsDouble(status);
        };
    // dcgm-exporter's labels, so that dashboards can join both.
    gauge(
        name,
        help,
        now,
        "gpu",
        Integer.toString(gpu.index()),
        "UUID",
        gpu.uuid(),
        "modelName",
        gpu.model());
  }

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
