package dev.tranche.process.meters;

import static java.util.Objects.requireNonNullElse;

import dev.tranche.process.listen.ListeningPort;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.system.FileDescriptorMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.DoubleStream;

/** Registers the meters of a process, each with its help. */
public class Meters {
  /** The version that runs. */
  public static final String VERSION =
      requireNonNullElse(Meters.class.getPackage().getImplementationVersion(), "development");

  private final MeterRegistry registry;
  private final String prefix;

  /**
   * @param prefix the first part of the names of meters that every process has, such as {@code
   *     tranche.webhook}
   */
  public Meters(MeterRegistry registry, String prefix) {
    this.registry = registry;
    this.prefix = prefix;
  }

  /** Returns a registry for the metrics port. */
  public static PrometheusMeterRegistry prometheusRegistry() {
    var registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    // Two of Micrometer's names break Prometheus's rules; other metrics have the same information.
    registry
        .config()
        .meterFilter(MeterFilter.denyNameStartsWith("process.cpu.time"))
        .meterFilter(MeterFilter.denyNameStartsWith("system.cpu.count"));
    return registry;
  }

  /** Registers what every process has: its version, and the use of its JVM. */
  public final void registerProcess() {
    gauge("tranche.build.info", "1; the version that runs.", () -> 1, "version", VERSION);
    new JvmMemoryMetrics().bindTo(registry);
    new ProcessorMetrics().bindTo(registry);
    new UptimeMetrics().bindTo(registry);
    new FileDescriptorMetrics().bindTo(registry);
  }

  /**
   * Returns the counter of that name and these tags, or creates it.
   *
   * @param tags names, each followed by its value; the values must be few
   */
  public final Counter counter(String name, String help, String... tags) {
    return Counter.builder(name).description(help).tags(tags).register(registry);
  }

  /**
   * Registers a gauge that is read at each scrape.
   *
   * @param tags names, each followed by its value; the values must be few
   */
  public final void gauge(String name, String help, Supplier<Number> value, String... tags) {
    Gauge.builder(name, value)
        .description(help)
        .tags(tags)
        .strongReference(true)
        .register(registry);
  }

  /** Drops a gauge that was registered with these tags. */
  public final void removeGauge(String name, String... tags) {
    registry.find(name).tags(tags).gauges().forEach(registry::remove);
  }

  /**
   * Returns the timer of that name and these tags, or creates it.
   *
   * @param buckets upper bounds
   */
  public final Timer timer(String name, String help, Duration[] buckets, String... tags) {
    return Timer.builder(name)
        .description(help)
        .tags(tags)
        .serviceLevelObjectives(buckets)
        .register(registry);
  }

  /** Returns the buckets of a timer. */
  public static Duration[] bucketsMs(double... upperBoundsMs) {
    return DoubleStream.of(upperBoundsMs)
        .mapToObj(ms -> Duration.ofNanos((long) (ms * 1e6)))
        .toArray(Duration[]::new);
  }

  /** Creates all meters at the start, so that the first event of a kind is an increase. */
  public static <K extends Enum<K>, M> Map<K, M> each(Class<K> keys, Function<K, M> meter) {
    var all = new EnumMap<K, M>(keys);
    EnumSet.allOf(keys).forEach(key -> all.put(key, meter.apply(key)));
    return all;
  }

  /** Registers the meters of the connections of a port. */
  public final void connections(ListeningPort port) {
    gauge(
        name("connections"),
        "Open connections of the port; bounded.",
        port::open,
        "port",
        port.name());
    FunctionCounter.builder(name("connections.refused"), port, ListeningPort::refused)
        .description("Connections refused, or closed in favour of others.")
        .tag("port", port.name())
        .register(registry);
  }

  /** Returns the name of a meter that every process has. */
  String name(String suffix) {
    return prefix + "." + suffix;
  }
}
