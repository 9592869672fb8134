package dev.tranche.e2e.chart;

import com.fasterxml.jackson.databind.JsonNode;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * One of the chart's dashboards, as Grafana reads it.
 *
 * @param name its file's, without the ending
 */
public record Dashboard(String name, JsonNode json) {
  private static final Path FOLDER = Path.of("../charts/tranche/dashboards");
  private static final Pattern LEGEND_LABEL = Pattern.compile("\\{\\{(\\w+)}}");

  /**
   * What Grafana would ask Prometheus for a panel, variables included.
   *
   * @param labels that the legend shows of each series
   */
  public record Query(String dashboard, String panel, String expression, List<String> labels) {
    /** With each variable's value in its place; the longest names first. */
    public Query with(Map<String, String> variables) {
      String expanded = expression;
      List<String> names =
          variables.keySet().stream().sorted((a, b) -> b.length() - a.length()).toList();
      for (String name : names) {
        expanded = expanded.replace("$" + name, variables.get(name));
      }
      return new Query(dashboard, panel, expanded, labels);
    }

    @Override
    public String toString() {
      return "%s, panel %s: %s".formatted(dashboard, panel, expression);
    }
  }

  public static List<Dashboard> all() {
    try (Stream<Path> files = Files.list(FOLDER)) {
      return files.sorted().map(Dashboard::read).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public static List<Query> queries() {
    return all().stream().flatMap(Dashboard::ownQueries).toList();
  }

  private static Dashboard read(Path file) {
    try {
      String name = file.getFileName().toString().replace(".json", "");
      return new Dashboard(name, Serialization.jsonMapper().readTree(Files.readString(file)));
    } catch (IOException e) {
      throw new UncheckedIOException(file.toString(), e);
    }
  }

  /** Rows are headings. */
  List<JsonNode> panels() {
    return stream(json.path("panels")).filter(p -> !p.path("type").asText().equals("row")).toList();
  }

  private Stream<Query> ownQueries() {
    return panels().stream()
        .flatMap(panel -> stream(panel.path("targets")).map(target -> query(panel, target)));
  }

  private Query query(JsonNode panel, JsonNode target) {
    List<String> labels =
        LEGEND_LABEL
            .matcher(target.path("legendFormat").asText())
            .results()
            .map(label -> label.group(1))
            .toList();
    return new Query(name, panel.path("title").asText(), target.path("expr").asText(), labels);
  }

  static Stream<JsonNode> stream(JsonNode array) {
    return array.valueStream();
  }
}
