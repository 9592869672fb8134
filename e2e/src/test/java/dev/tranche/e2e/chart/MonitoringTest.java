package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.render;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class MonitoringTest {
  private static final Pattern METRIC = Pattern.compile("tranche_[a-z_]+");

  @Test
  void alerts_askForMetricsThatThereAre() throws IOException {
    String known = Files.readString(Path.of("../docs/monitoring.md"));
    var asked = METRIC.matcher(Alerts.ruleFile()).results().map(MatchResult::group).distinct();
    assertThat(asked)
        .hasSizeGreaterThan(10)
        .map(metric -> metric.replaceAll("_(bucket|count|sum)$", ""))
        .allMatch(metric -> known.contains("`" + metric + "`"));
  }

  @Test
  void everyAlert_hasAHeadingOnThePageThatItNames() throws IOException {
    List<String> headings =
        Files.readAllLines(Path.of("../docs/monitoring.md")).stream()
            .filter(line -> line.startsWith("### Tranche") && !line.contains(" / "))
            .map(line -> line.substring(4))
            .toList();
    Map<String, String> pages = Alerts.pages();
    assertThat(headings).containsExactlyInAnyOrderElementsOf(pages.keySet());
    pages.forEach(
        (alert, page) ->
            assertThat(page).isEqualTo("docs/monitoring.md#" + alert.toLowerCase(Locale.ROOT)));
  }

  @Test
  void alerts_areOfPartsThatAreOn() {
    String pluginAlone =
        render(
            "monitoring.prometheusRule.enabled=true",
            "monitoring.podMonitor.enabled=true",
            "webhook.enabled=false",
            "extender.enabled=false");
    assertThat(pluginAlone).contains("TrancheGpuUnhealthy").doesNotContain("absent(", "Mps");
  }

  /** Then nothing that port 9090 shows names a pod, and Prometheus shows its token for the rest. */
  @Test
  void podsUse_isServedOnlyToWhoMayGetMetrics_ifAsked() {
    String variable = "{name: TRANCHE_POD_METRICS, value: \"%s\"}";
    assertThat(render()).contains(variable.formatted("true"));
    String rendered =
        render("monitoring.podMetrics=authorized", "monitoring.serviceMonitor.enabled=true");
    assertThat(rendered)
        .contains(variable.formatted("false"))
        .contains("- port: api")
        .contains("serverName: tranche-extender.tranche.svc");
    assertThatThrownBy(
            () -> render("monitoring.podMetrics=authorized", "extender.api.enabled=false"))
        .hasMessageContaining("needs extender.enabled and extender.api.enabled");
  }

  @Test
  void monitors_areMadeOnlyWhenAsked_andSelectWhatServesMetrics() {
    assertThat(render()).doesNotContain("monitoring.coreos.com");
    String rendered =
        render(
            "monitoring.serviceMonitor.enabled=true",
            "monitoring.podMonitor.enabled=true",
            "monitoring.labels.release=prometheus");
    assertThat(rendered.split("kind: ServiceMonitor", -1)).hasSize(4);
    assertThat(rendered.split("kind: PodMonitor", -1)).hasSize(2);
    assertThat(rendered)
        .contains("    release: prometheus")
        .contains("- {port: metrics, interval: 30s}")
        .contains("- {name: metrics, port: 9090, targetPort: metrics}");
  }
}
