package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.documents;
import static dev.tranche.e2e.chart.Chart.render;
import static dev.tranche.e2e.chart.Chart.renderFile;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class DashboardsTest {
  private static final int COLUMNS = 24;
  private static final Pattern METRIC = Pattern.compile("\\b(tranche|scheduler)_[a-z_]+");
  private static final Pattern VARIABLE = Pattern.compile("\\$\\{?([a-z_]+)");

  /** Okabe and Ito's, which colour-blind people tell apart. */
  private static final Set<String> COLOURS =
      Set.of("#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#999999", "#F0E442", "#009E73");

  static List<Dashboard> dashboards() {
    return Dashboard.all();
  }

  @Test
  void dashboards_areThoseThatThePageTellsOf() throws IOException {
    String page = Files.readString(Path.of("../docs/monitoring.md"));
    assertThat(dashboards()).extracting(Dashboard::name).hasSize(4);
    assertThat(dashboards())
        .allSatisfy(
            d ->
                assertThat(page)
                    .contains("## " + d.json().path("title").asText())
                    .contains("`dashboards/" + d.name() + ".json`"));
  }

  @ParameterizedTest
  @MethodSource("dashboards")
  void dashboard_hasWhatGrafanaNeedsToImportIt(Dashboard dashboard) {
    JsonNode json = dashboard.json();
    assertThat(json.path("uid").asText()).isEqualTo("tranche-" + dashboard.name());
    assertThat(json.path("schemaVersion").asInt()).isEqualTo(38);
    assertThat(json.path("description").asText()).endsWith(".");
    assertThat(json.has("id")).isFalse();
    List<JsonNode> variables = Dashboard.stream(json.path("templating").path("list")).toList();
    assertThat(variables.getFirst().path("type").asText()).isEqualTo("datasource");
    assertThat(variables).allSatisfy(v -> assertThat(v.path("description").asText()).endsWith("."));
    assertThat(json.toString()).doesNotContain("http://", "https://");
  }

  @ParameterizedTest
  @MethodSource("dashboards")
  void everyPanel_saysWhatItShows_inWhichUnit(Dashboard dashboard) {
    assertThat(dashboard.panels())
        .isNotEmpty()
        .allSatisfy(
            panel -> {
              assertThat(panel.path("title").asText()).isNotBlank();
              assertThat(panel.path("description").asText()).matches("[A-Z0-9].{20,}\\.");
              assertThat(panel.path("fieldConfig").path("defaults").path("unit").asText())
                  .isNotBlank();
              assertThat(panel.path("datasource").path("uid").asText()).isEqualTo("${datasource}");
              assertThat(panel.path("targets")).isNotEmpty();
              assertThat(Dashboard.stream(panel.path("targets")))
                  .allMatch(t -> t.path("datasource").path("uid").asText().equals("${datasource}"))
                  .extracting(t -> t.path("refId").asText())
                  .doesNotHaveDuplicates();
            });
    assertThat(dashboard.panels())
        .extracting(panel -> panel.path("title").asText())
        .doesNotHaveDuplicates();
  }

  @ParameterizedTest
  @MethodSource("dashboards")
  void colours_areToldApartByColourBlindPeople(Dashboard dashboard) {
    List<String> used =
        Stream.of("color", "fixedColor")
            .flatMap(key -> dashboard.json().findValues(key).stream())
            .filter(JsonNode::isTextual)
            .map(JsonNode::asText)
            .toList();
    assertThat(used).isNotEmpty().isSubsetOf(COLOURS);
  }

  @ParameterizedTest
  @MethodSource("dashboards")
  void panels_fitTheGrid_andDoNotOverlap(Dashboard dashboard) {
    var taken = new HashSet<String>();
    for (JsonNode panel : dashboard.json().path("panels")) {
      JsonNode at = panel.path("gridPos");
      assertThat(at.path("x").asInt() + at.path("w").asInt()).isLessThanOrEqualTo(COLUMNS);
      for (int x = 0; x < at.path("w").asInt(); x++) {
        for (int y = 0; y < at.path("h").asInt(); y++) {
          assertThat(taken.add((at.path("x").asInt() + x) + "," + (at.path("y").asInt() + y)))
              .as(panel.path("title").asText())
              .isTrue();
        }
      }
    }
    assertThat(Dashboard.stream(dashboard.json().path("panels")).map(p -> p.path("id").asInt()))
        .doesNotHaveDuplicates();
  }

  @Test
  void queries_askForMetricsThatThereAre_ofOneInstallation() throws IOException {
    String known = Files.readString(Path.of("../docs/monitoring.md"));
    assertThat(Dashboard.queries())
        .hasSizeGreaterThan(80)
        .allSatisfy(
            query -> {
              List<String> metrics =
                  METRIC.matcher(query.expression()).results().map(MatchResult::group).toList();
              assertThat(metrics).as(query.toString()).isNotEmpty();
              assertThat(metrics)
                  .map(metric -> metric.replaceAll("_(bucket|count|sum)$", ""))
                  .allSatisfy(metric -> assertThat(known).contains("`" + metric));
              assertThat(query.expression().split("namespace=\"\\$installation\"|job=\"", -1))
                  .as("each metric of one installation or scheduler: %s", query)
                  .hasSize(metrics.size() + 1);
            });
  }

  /** There are more than fifty reasons and outcomes, and most never happen. */
  @Test
  void reasonsThatDidNotHappen_areNotInTheLegend() {
    assertThat(Dashboard.queries())
        .filteredOn(
            query ->
                query.expression().matches(".*(denied_nodes|webhook_admissions)_total.*")
                    && query.expression().startsWith("sum by ("))
        .hasSize(4)
        .allSatisfy(query -> assertThat(query.expression()).endsWith(" > 0"));
  }

  /** Several extender replicas tell of one GPU, and two pods of a plugin do while it is updated. */
  @Test
  void gpus_areCountedOnce_howeverManyTellOfThem() {
    assertThat(Dashboard.queries())
        .allSatisfy(
            query ->
                assertThat(
                        query
                            .expression()
                            .replaceAll(
                                "(max|min) by \\([A-Za-z_, ]*\\)"
                                    + " \\((label_replace\\()?tranche_(extender_|container_)?gpu_",
                                ""))
                    .as(query.toString())
                    .doesNotContainPattern("tranche_(extender_|container_)?gpu_\\w+\\{"));
  }

  @ParameterizedTest
  @MethodSource("dashboards")
  void variables_areDeclared_andUsed(Dashboard dashboard) {
    Set<String> declared =
        Dashboard.stream(dashboard.json().path("templating").path("list"))
            .map(v -> v.path("name").asText())
            .collect(Collectors.toSet());
    Set<String> used =
        Dashboard.stream(dashboard.json().path("panels"))
            .flatMap(panel -> VARIABLE.matcher(panel.path("targets").toString()).results())
            .map(match -> match.group(1))
            .filter(name -> !name.startsWith("__"))
            .collect(Collectors.toSet());
    assertThat(used).isEqualTo(declared);
  }

  @Test
  void configMaps_areMadeOnlyWhenAsked_asTheSidecarFindsThem() {
    assertThat(render(Map.of())).doesNotContain("grafana_dashboard");
    List<ConfigMap> maps =
        configMaps(
            render(
                Map.of(
                    "grafanaDashboards.enabled",
                    true,
                    "grafanaDashboards.namespace",
                    "monitoring",
                    "grafanaDashboards.labels.team",
                    "gpu",
                    "grafanaDashboards.annotations.grafana_folder",
                    "GPUs")));
    assertThat(maps).hasSameSizeAs(dashboards());
    assertThat(maps)
        .allSatisfy(
            map -> {
              assertThat(map.getMetadata().getNamespace()).isEqualTo("monitoring");
              assertThat(map.getMetadata().getLabels())
                  .containsEntry("grafana_dashboard", "1")
                  .containsEntry("team", "gpu");
              assertThat(map.getMetadata().getAnnotations())
                  .containsEntry("grafana_folder", "GPUs");
            });
    assertThat(maps.stream().flatMap(map -> map.getData().values().stream()))
        .map(Serialization.jsonMapper()::readTree)
        .containsExactlyInAnyOrderElementsOf(dashboards().stream().map(Dashboard::json).toList());
  }

  /** An upgrade with --reuse-values has none of the new values but those that are given. */
  @Test
  void configMaps_haveTheSidecarsLabel_whereValuesAreReused(@TempDir Path folder)
      throws IOException {
    String rendered =
        renderFile(
            folder,
            "grafanaDashboards: {enabled: true, labels: null, annotations: null, namespace: null}");
    assertThat(configMaps(rendered))
        .hasSameSizeAs(dashboards())
        .allSatisfy(
            map -> {
              assertThat(map.getMetadata().getLabels()).containsEntry("grafana_dashboard", "1");
              assertThat(map.getMetadata().getNamespace()).isEqualTo("tranche");
            });
  }

  private static List<ConfigMap> configMaps(String rendered) {
    return documents(rendered)
        .filter(document -> document.contains("-dashboard-"))
        .map(document -> Serialization.unmarshal(document, ConfigMap.class))
        .toList();
  }
}
