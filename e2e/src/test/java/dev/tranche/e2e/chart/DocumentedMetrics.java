package dev.tranche.e2e.chart;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;

/**
 * The metrics of docs/monitoring.md, and one series or two of each with the labels that it names.
 */
public final class DocumentedMetrics {
  static final int REPLICAS = 10;

  private static final Pattern ROW =
      Pattern.compile("\\| `(tranche_\\w+)` \\| (\\w+) \\| ([^|]*)\\| .*");
  private static final Pattern LABEL = Pattern.compile("`(\\w+)`");

  /** What a query may select by, or join on; any other label has its own name as value. */
  private static final Map<String, List<String>> VALUES =
      Map.of(
          "verb", List.of("filter", "bind"),
          "outcome", List.of("decided", "denied"),
          "mistake", List.of("GpuShareMissing", "GpuReplicasChanged", "GpuAllocatedTwice"),
          "gpu", List.of("0"),
          "UUID", List.of("GPU-1"),
          "node", List.of("a"),
          "namespace", List.of("team"));

  private static final Map<String, Integer> GAUGES =
      Map.of(
          "tranche_gpu_memory_total_bytes", 16_000,
          "tranche_gpu_memory_used_bytes", 4_000,
          "tranche_container_gpu_memory_granted_bytes", 4_000,
          "tranche_container_gpu_memory_used_bytes", 2_000,
          "tranche_extender_gpu_replicas", REPLICAS,
          "tranche_extender_gpu_free_replicas", 4,
          "tranche_pod_gpu_idle_seconds", 4_000);

  private final List<Metric> metrics;
  private final AtomicLong scrapes = new AtomicLong();

  public record Metric(String name, String type, List<String> labels) {}

  private DocumentedMetrics(List<Metric> metrics) {
    this.metrics = metrics;
  }

  /**
   * @param part the heading on the page
   */
  public static DocumentedMetrics of(String part) throws IOException {
    var metrics = new ArrayList<Metric>();
    String section = "";
    List<String> labels = List.of();
    for (String line : Files.readAllLines(Path.of("../docs/monitoring.md"))) {
      section = line.startsWith("## ") ? line.substring(3) : section;
      var row = ROW.matcher(line);
      if (section.equals(part) && row.matches()) {
        if (!row.group(3).strip().equals("the same")) {
          labels = LABEL.matcher(row.group(3)).results().map(l -> l.group(1)).toList();
        }
        metrics.add(new Metric(row.group(1), row.group(2), labels));
      }
    }
    return new DocumentedMetrics(metrics);
  }

  /** kube-scheduler's, whose labels its own documentation tells. */
  static DocumentedMetrics ofKubeScheduler() {
    return new DocumentedMetrics(
        List.of(
            new Metric("scheduler_pending_pods", "gauge", List.of("queue")),
            new Metric(
                "scheduler_pod_scheduling_sli_duration_seconds",
                "histogram",
                List.of("attempts"))));
  }

  public List<Metric> metrics() {
    return metrics;
  }

  int size() {
    return metrics.size();
  }

  /** What a scrape reads; counters have grown since the last one. */
  String exposition() {
    long count = scrapes.incrementAndGet();
    var text = new StringBuilder();
    for (Metric metric : metrics) {
      text.append("# TYPE %s %s\n".formatted(metric.name(), metric.type()));
      for (String labels : series(metric.labels())) {
        text.append(samples(metric, labels, count));
      }
    }
    return text.toString();
  }

  private static List<String> series(List<String> labels) {
    List<String> series = List.of("");
    for (String label : labels) {
      List<String> before = series;
      series =
          VALUES.getOrDefault(label, List.of(label)).stream()
              .flatMap(value -> before.stream().map(s -> "%s%s=\"%s\",".formatted(s, label, value)))
              .toList();
    }
    return series;
  }

  private static String samples(Metric metric, String labels, long count) {
    return switch (metric.type()) {
      case "histogram" ->
          sample(metric.name() + "_bucket", labels + "le=\"0.01\"", count)
              + sample(metric.name() + "_bucket", labels + "le=\"+Inf\"", count)
              + sample(metric.name() + "_count", labels, count)
              + sample(metric.name() + "_sum", labels, count);
      case "counter" -> sample(metric.name(), labels, count);
      default -> sample(metric.name(), labels, GAUGES.getOrDefault(metric.name(), 1));
    };
  }

  private static String sample(String name, String labels, long value) {
    return "%s{%s} %d\n".formatted(name, labels, value);
  }
}
