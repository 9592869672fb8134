package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.chart.DocumentedMetrics;
import dev.tranche.e2e.chart.Prometheus;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What Prometheus reads of each part. */
@Order(10)
class MetricsE2E extends Scenario {
  @ParameterizedTest
  @CsvSource({
    "webhook, tranche_webhook_",
    "extender, tranche_extender_",
    "node-plugin, tranche_node_",
  })
  void metrics_arePresentAndPassPrometheussOwnLinter(String part, String prefix) throws Exception {
    create(PodSpecs.fraction("one", "0.1"));
    running("one");
    // One that is leaving may be gone when it is asked.
    Pod pod =
        tranche().parts(part).stream()
            .filter(p -> p.getMetadata().getDeletionTimestamp() == null)
            .findFirst()
            .orElseThrow();
    String metrics = tranche().metrics(pod);
    assertThat(metrics).contains(prefix);
    assertThat(lint(metrics).lines().filter(finding -> !isDcgmsLabel(finding))).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"webhook, Webhook", "extender, Extender", "node-plugin, Node plugin"})
  void metrics_haveTheTypesAndLabels_thatThePageNames(String part, String heading)
      throws Exception {
    create(PodSpecs.fraction("one", "0.1"));
    running("one");
    Map<String, ScrapedMetric> scraped = new HashMap<>();
    for (Pod pod : tranche().parts(part)) {
      if (pod.getMetadata().getDeletionTimestamp() == null) {
        scraped.putAll(ScrapedMetric.parse(tranche().metrics(pod)));
      }
    }
    var seen = new TreeSet<String>();
    for (var metric : DocumentedMetrics.of(heading).metrics()) {
      ScrapedMetric found = scraped.get(metric.name());
      if (found != null) {
        seen.add(metric.name());
        assertThat(found)
            .as(metric.name())
            .isEqualTo(new ScrapedMetric(metric.type(), new TreeSet<>(metric.labels())));
      }
    }
    Set<String> ours = new TreeSet<>(scraped.keySet());
    ours.removeIf(name -> !name.startsWith("tranche_") || name.endsWith("_max"));
    assertThat(seen).hasSizeGreaterThan(10).containsAll(ours);
  }

  /**
   * What a scrape shows of a metric.
   *
   * @param labels of its series, without {@code le}
   */
  private record ScrapedMetric(String type, Set<String> labels) {
    private static final Pattern TYPE = Pattern.compile("# TYPE (\\w+) (\\w+)");
    private static final Pattern LABEL = Pattern.compile("[{,](\\w+)=\"(?:[^\"\\\\]|\\\\.)*\"");

    /** Returns the metrics of an exposition by their names. */
    static Map<String, ScrapedMetric> parse(String exposition) {
      var metrics = new HashMap<String, ScrapedMetric>();
      @Nullable ScrapedMetric current = null;
      for (String line : exposition.lines().toList()) {
        Matcher type = TYPE.matcher(line);
        if (type.matches()) {
          current = new ScrapedMetric(type.group(2), new TreeSet<>());
          metrics.put(type.group(1), current);
        } else if (current != null && !line.startsWith("#")) {
          LABEL.matcher(line).results().map(label -> label.group(1)).forEach(current.labels::add);
          current.labels.remove("le");
        }
      }
      return metrics;
    }
  }

  /** The API server's proxy passes no credentials on, so it is the scheduler that refuses. */
  @Test
  void metricsOfKubeScheduler_areServed_butToNobodyUnknown() {
    var client = client();
    String url =
        "%sapi/v1/namespaces/%s/services/https:tranche-scheduler:scheduler/proxy/metrics"
            .formatted(client.getMasterUrl(), Tranche.NAMESPACE);
    var http = client.getHttpClient();
    var answer = http.sendAsync(http.newHttpRequestBuilder().uri(url).build(), String.class).join();
    assertThat(answer.code()).isEqualTo(403);
    assertThat(answer.body()).contains("system:anonymous", "/metrics");
  }

  /**
   * {@code UUID}, {@code modelName} and {@code Hostname} are what dcgm-exporter calls them, so that
   * people can join.
   */
  private static boolean isDcgmsLabel(String finding) {
    return finding.matches(
        "tranche_(container_|extender_|pod_)?gpu_\\w+ label names should be written in"
            + " 'snake_case'.*");
  }

  private static String lint(String metrics) throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(Prometheus.promtool(), "check", "metrics")
            .redirectErrorStream(true)
            .start();
    try (var in = process.outputWriter(StandardCharsets.UTF_8)) {
      in.write(metrics);
    }
    String findings = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    process.waitFor();
    return findings;
  }
}
