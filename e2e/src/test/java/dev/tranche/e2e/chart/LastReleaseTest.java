package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.documents;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The chart of the last release can be upgraded to this one. */
class LastReleaseTest {
  private static final Path LAST = Path.of("last-release/tranche");
  private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());

  /** Fields that the API server does not let change, by kind. */
  private static final Map<String, List<String>> FIXED =
      Map.of(
          "Deployment", List.of("/spec/selector"),
          "DaemonSet", List.of("/spec/selector"),
          "RoleBinding", List.of("/roleRef"),
          "ClusterRoleBinding", List.of("/roleRef"),
          "Service", List.of("/spec/clusterIP"),
          "Secret", List.of("/type"),
          "RuntimeClass", List.of("/handler"));

  @ParameterizedTest
  @ValueSource(strings = {"scheduler", "service"})
  void whatTheApiServerFixes_isTheSame(String mode) throws IOException {
    Map<String, JsonNode> before = objects(LAST, mode);
    Map<String, JsonNode> now = objects(Chart.FOLDER, mode);
    assertThat(now.keySet())
        .as("objects that both have")
        .filteredOn(before::containsKey)
        .hasSizeGreaterThan(30);
    for (String key : now.keySet()) {
      for (String field : FIXED.getOrDefault(key.split(" ")[0], List.of())) {
        if (before.containsKey(key)) {
          assertThat(now.get(key).at(field)).as(key + field).isEqualTo(before.get(key).at(field));
        }
      }
    }
  }

  /** A user's file may have any of them, also with its default. */
  @Test
  void valuesOfTheLastRelease_areStillTaken(@TempDir Path folder) throws IOException {
    String all = Files.readString(LAST.resolve("values.yaml"));
    assertThat(Chart.renderFile(folder, all)).contains("kind: DaemonSet");
  }

  private static Map<String, JsonNode> objects(Path chart, String mode) throws IOException {
    var objects = new TreeMap<String, JsonNode>();
    String rendered =
        new Rendering("none", "none", "tranche", Map.of("extender.mode", mode)).render(chart);
    for (String document : documents(rendered).toList()) {
      JsonNode object = YAML.readTree(document);
      JsonNode metadata = object.path("metadata");
      objects.put(
          "%s %s/%s"
              .formatted(
                  object.path("kind").asText(),
                  metadata.path("namespace").asText(),
                  metadata.path("name").asText()),
          object);
    }
    return objects;
  }
}
