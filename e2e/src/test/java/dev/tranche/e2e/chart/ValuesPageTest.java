package dev.tranche.e2e.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The reference of the chart's values is complete and current. */
class ValuesPageTest {
  /** A row: the value, its default or nothing in a group's row, its type, and its meaning. */
  private static final Pattern ROW =
      Pattern.compile("(?m)^\\| `([\\w.]+)` \\|(?: `(.*?)`)? \\| .*[a-z]{2}.* \\|$");

  private final JsonNode values;
  private final Map<String, String> defaults = new LinkedHashMap<>();

  ValuesPageTest() throws IOException {
    values =
        new ObjectMapper(new YAMLFactory())
            .readTree(Files.readString(Chart.FOLDER.resolve("values.yaml")));
    String page = Files.readString(Path.of("../docs/values.md"));
    ROW.matcher(page)
        .results()
        .forEach(row -> defaults.put(row.group(1), String.valueOf(row.group(2))));
    assertThat(page.lines().filter(line -> line.startsWith("| `")))
        .hasSameSizeAs(defaults.keySet());
  }

  @Test
  void everyRow_hasTheDefaultOfAValueOfTheChart() {
    defaults.forEach(
        (path, said) -> {
          JsonNode value = values.at("/" + path.replace('.', '/'));
          String group = value.isObject() ? "null" : "";
          assertThat(List.of(value.toString().replace("|", "\\|"), group)).as(path).contains(said);
        });
  }

  @Test
  void everyValue_hasARow() {
    var paths = new ArrayList<String>();
    leaves("", values, paths);
    assertThat(paths)
        .hasSizeGreaterThan(150)
        .allMatch(path -> defaults.keySet().stream().anyMatch(row -> isRowOf(row, path)));
  }

  /** The value's own row, or that of a map around it whose keys are the user's. */
  private boolean isRowOf(String row, String path) {
    return path.equals(row) || (path.startsWith(row + ".") && !"null".equals(defaults.get(row)));
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
