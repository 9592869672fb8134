package dev.tranche.e2e.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The dashboards' queries in a real Prometheus that scrapes every metric of docs/monitoring.md.
 * There are two extender replicas, and two pods of one node's plugin, as while it is updated.
 */
class DashboardsIT {
  private static final Map<String, String> VARIABLES =
      Map.of(
          "installation", "tranche",
          "node", "a",
          "namespace", "team",
          "scheduler", "tranche-scheduler",
          "__rate_interval", "10s");
  private static final Pattern PAGE_QUERY = Pattern.compile("(?s)```promql\\n(.*?)```");
  private static final Pattern LABEL_VALUES = Pattern.compile("label_values\\((.+), (\\w+)\\)");

  /** Of a node with a sound GPU and one that is lost, of which nothing can be read. */
  private static final String PARTLY_LOST =
      """
      tranche_gpu_healthy{UUID="GPU-sound",gpu="0"} 1
      tranche_gpu_healthy{UUID="GPU-lost",gpu="1"} 0
      tranche_gpu_memory_total_bytes{UUID="GPU-sound",gpu="0"} 1000
      tranche_gpu_memory_total_bytes{UUID="GPU-lost",gpu="1"} 1000
      tranche_gpu_memory_reserved_bytes{UUID="GPU-sound",gpu="0"} 0
      tranche_gpu_memory_reserved_bytes{UUID="GPU-lost",gpu="1"} 0
      tranche_gpu_memory_used_bytes{UUID="GPU-sound",gpu="0"} 500
      tranche_gpu_memory_used_bytes{UUID="GPU-lost",gpu="1"} NaN
      tranche_gpu_sm_utilization_mean_ratio{UUID="GPU-sound",gpu="0"} 0.25
      tranche_gpu_sm_utilization_mean_ratio{UUID="GPU-lost",gpu="1"} NaN
      """;

  @TempDir static Path folder;
  @AutoClose private static Expositions expositions;
  @AutoClose private static Prometheus prometheus;

  @BeforeAll
  static void scrape() throws Exception {
    expositions = Expositions.start();
    for (String pod : List.of("extender-1", "extender-2")) {
      add("Extender", Map.of("namespace", "tranche", "pod", pod));
    }
    for (String pod : List.of("plugin-old", "plugin-new")) {
      add("Node plugin", Map.of("namespace", "tranche", "pod", pod, "node", "a"));
    }
    add("Webhook", Map.of("namespace", "tranche", "pod", "webhook"));
    expositions.add(
        Map.of("namespace", "tranche", "job", "tranche-scheduler"),
        DocumentedMetrics.ofKubeScheduler()::exposition);
    expositions.add(
        Map.of("namespace", "partly-lost", "pod", "plugin", "node", "b"), () -> PARTLY_LOST);
    prometheus = Prometheus.start(folder, 1, List.of(expositions.scrapeConfig()));
    prometheus.awaitScrapes(expositions.size(), 3);
  }

  private static void add(String part, Map<String, String> labels) throws IOException {
    var metrics = DocumentedMetrics.of(part);
    assertThat(metrics.size()).as(part).isGreaterThan(10);
    expositions.add(labels, metrics::exposition);
  }

  @Test
  void everyQuery_findsSeries() {
    assertThat(Dashboard.queries())
        .map(query -> query.with(VARIABLES))
        .allSatisfy(
            query -> {
              // "$1" is label_replace's.
              assertThat(query.expression()).doesNotContainPattern("\\$[a-z_{]");
              assertThat(prometheus.shows(query.expression())).as(query.toString()).isTrue();
            });
  }

  @Test
  void queriesOfThePage_findSeries() throws IOException {
    List<String> queries =
        PAGE_QUERY
            .matcher(Files.readString(Path.of("../docs/monitoring.md")))
            .results()
            .map(found -> found.group(1))
            // A subquery of a day has samples of the last seconds only.
            .map(query -> query.replace("[1d:1m]", "[1m:1s]"))
            .toList();
    assertThat(queries)
        .isNotEmpty()
        .allSatisfy(query -> assertThat(prometheus.shows(query)).as(query).isTrue());
  }

  @Test
  void legends_showLabelsThatTheSeriesHave() {
    assertThat(Dashboard.queries())
        .allSatisfy(
            query ->
                assertThat(prometheus.query(query.with(VARIABLES).expression()))
                    .as(query.toString())
                    .allMatch(s -> query.labels().stream().allMatch(s.path("metric")::has)));
  }

  @Test
  void everyVariable_findsItsValue() {
    for (Dashboard dashboard : Dashboard.all()) {
      for (JsonNode variable : dashboard.json().path("templating").path("list")) {
        if (variable.path("type").asText().equals("query")) {
          assertThat(values(variable.path("query").path("query").asText()))
              .as("%s of %s", variable.path("name"), dashboard.name())
              .contains(VARIABLES.get(variable.path("name").asText()));
        }
      }
    }
  }

  /** As Grafana does it, by a query. */
  private static Set<String> values(String definition) {
    var parts = LABEL_VALUES.matcher(definition);
    assertThat(parts.matches()).as(definition).isTrue();
    String series =
        new Dashboard.Query("", "", parts.group(1), List.of()).with(VARIABLES).expression();
    return Dashboard.stream(
            prometheus.query("count by (%s) (%s)".formatted(parts.group(2), series)))
        .map(sample -> sample.path("metric").path(parts.group(2)).asText())
        .collect(Collectors.toSet());
  }

  @Test
  void gpusAndReplicas_areCountedOnce() {
    assertThat(value("overview", "GPUs")).isEqualTo(1);
    assertThat(value("overview", "Replicas")).isEqualTo(DocumentedMetrics.REPLICAS);
    assertThat(value("overview", "Granted")).isEqualTo(0.6);
    assertThat(value("node", "GPUs")).isEqualTo(1);
    assertThat(value("tenant", "Memory granted and used")).isEqualTo(4_000);
  }

  @Test
  void lostGpu_leavesTheOthersToBeSeen() {
    var there = new HashMap<>(VARIABLES);
    there.put("installation", "partly-lost");
    assertThat(value("overview", "Memory in use", there)).isEqualTo(0.5);
    assertThat(Dashboard.queries())
        .filteredOn(query -> query.dashboard().equals("overview"))
        .flatExtracting(
            query -> Dashboard.stream(prometheus.query(query.with(there).expression())).toList())
        .extracting(sample -> sample.path("value").path(1).asText())
        .contains("0.25")
        .doesNotContain("NaN");
  }

  private static double value(String dashboard, String panel) {
    return value(dashboard, panel, VARIABLES);
  }

  /** Of the panel's first query. */
  private static double value(String dashboard, String panel, Map<String, String> variables) {
    return Dashboard.queries().stream()
        .filter(query -> query.dashboard().equals(dashboard) && query.panel().equals(panel))
        .map(query -> prometheus.query(query.with(variables).expression()))
        .map(samples -> samples.path(0).path("value").path(1).asDouble())
        .findFirst()
        .orElseThrow();
  }

  /** A query that Prometheus could not read would be an empty panel. */
  @Test
  void queries_areReadByPromtool(@TempDir Path rules) throws Exception {
    String text =
        Dashboard.queries().stream()
            .map(query -> query.with(VARIABLES).expression())
            .map(expression -> "  - record: panel\n    expr: |\n      " + expression + "\n")
            .distinct()
            .collect(Collectors.joining("", "groups:\n- name: panels\n  rules:\n", ""));
    Path file = Files.writeString(rules.resolve("rules.yaml"), text);
    Shell.output("\"$(../.build/tool.sh promtool)\" check rules --lint=none " + file);
  }
}
