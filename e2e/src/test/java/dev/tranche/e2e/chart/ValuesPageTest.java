package dev.tranche.e2e.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The reference of the chart's values is complete and current. */
class ValuesPageTest {
  private static final Path PAGE = Path.of("../docs/values.md");

  @Test
  void page_isRenderedFromTheChart() throws IOException {
    assertThat(Files.readString(PAGE))
        .as("./check --render writes it")
        .isEqualTo(ValuesPage.of(Chart.FOLDER).text());
  }

  @Test
  void page_hasEveryValue_withATypeAndAMeaning() throws IOException {
    var paths = new ArrayList<String>();
    leaves("", ValuesPage.of(Chart.FOLDER).defaults(), paths);
    List<String> lines = Files.readAllLines(PAGE);
    assertThat(paths).hasSizeGreaterThan(150);
    for (String path : paths) {
      assertThat(lines).as(path).anyMatch(line -> isRowOf(line, path));
    }
    assertThat(lines.stream().filter(line -> line.startsWith("| `")))
        .allMatch(line -> line.matches(".* \\| [^|]*[a-z]{2}.* \\|"));
  }

  /** The value's own row, or that of a map around it whose keys are the user's. */
  private static boolean isRowOf(String line, String path) {
    if (!line.startsWith("| `")) {
      return false;
    }
    String named = line.substring(3, line.indexOf('`', 3));
    return path.equals(named) || (path.startsWith(named + ".") && !line.contains("` | | |"));
  }

  private static void leaves(String path, JsonNode value, List<String> into) {
    if (!value.isObject() || value.isEmpty()) {
      into.add(path);
      return;
    }
    value
        .properties()
        .forEach(
            entry ->
                leaves(
                    path.isEmpty() ? entry.getKey() : path + "." + entry.getKey(),
                    entry.getValue(),
                    into));
  }
}
