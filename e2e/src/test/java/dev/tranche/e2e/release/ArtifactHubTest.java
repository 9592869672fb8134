package dev.tranche.e2e.release;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;

/** What Artifact Hub reads of the chart. */
class ArtifactHubTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());
  private static final Set<String> KINDS =
      Set.of("added", "changed", "deprecated", "removed", "fixed", "security");
  private static final String HERE = "https://github.com/tranche/tranche/blob/main/";

  private static JsonNode annotation(String name) throws IOException {
    JsonNode chart = YAML.readTree(Files.readString(ROOT.resolve("charts/tranche/Chart.yaml")));
    JsonNode text = chart.path("annotations").path("artifacthub.io/" + name);
    assertThat(text.isTextual()).as(name).isTrue();
    return YAML.readTree(text.asText());
  }

  private static List<String> each(JsonNode list, String field) {
    return StreamSupport.stream(list.spliterator(), false)
        .map(entry -> entry.path(field).asText())
        .toList();
  }

  @Test
  void images_areThoseThatTheChartRenders() throws IOException {
    String all = Shell.output(ROOT.resolve(".build/images.sh") + " " + ROOT.resolve("deploy"));
    assertThat(each(annotation("images"), "image"))
        .containsExactlyInAnyOrderElementsOf(
            all.lines().filter(line -> !line.startsWith("#")).toList());
  }

  @Test
  void changes_haveKindsThatArtifactHubKnows() throws IOException {
    JsonNode changes = annotation("changes");
    assertThat(each(changes, "kind")).isNotEmpty().allMatch(KINDS::contains);
    assertThat(each(changes, "description")).noneMatch(String::isBlank);
  }

  @Test
  void linksAndIcon_leadToFilesThatThereAre() throws IOException {
    assertThat(each(annotation("links"), "url"))
        .filteredOn(url -> url.startsWith(HERE))
        .hasSizeGreaterThan(2)
        .allMatch(url -> Files.exists(ROOT.resolve(url.substring(HERE.length()))));
    String chart = Files.readString(ROOT.resolve("charts/tranche/Chart.yaml"));
    String icon = chart.replaceAll("(?s).*\\nicon: \\S+/main/(\\S+).*", "$1");
    assertThat(ROOT.resolve(icon)).exists();
  }

  @Test
  void words_areThoseOfTheirLists() throws IOException {
    assertThat(annotation("category").asText()).isEqualTo("ai-machine-learning");
    assertThat(annotation("license").asText()).isEqualTo("Apache-2.0");
    for (String yesOrNo : List.of("operator", "prerelease", "containsSecurityUpdates")) {
      assertThat(annotation(yesOrNo).isBoolean()).as(yesOrNo).isTrue();
    }
  }

  /** Unlike the library that the other tests use, the command also checks the chart's metadata. */
  @Test
  void helmLint_isContent() throws IOException {
    Shell.output("\"$(../.build/tool.sh helm)\" lint --strict --quiet ../charts/tranche");
  }
}
