package dev.tranche.e2e.chart;

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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * {@code docs/values.md}: every value of the chart with its type, its default and its comment.
 *
 * @param defaults {@code values.yaml}
 * @param comments by the value's path; a value without one has the schema's description
 */
public record ValuesPage(JsonNode defaults, JsonNode schema, Map<String, String> comments) {
  private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());
  private static final Pattern KEY = Pattern.compile("( *)([A-Za-z]\\w*):(?: .*)?");
  private static final String HEAD =
      """
      # Values of the chart

      Every value of [charts/tranche](../charts/tranche/values.yaml), rendered from its comments and its schema. `./check --render` writes this page, and a test compares it.
      A value of NVIDIA's device plugin chart means the same here, unless it says that it has no effect. Values that are not listed are refused.
      """;

  public static ValuesPage of(Path chart) throws IOException {
    Path values = chart.resolve("values.yaml");
    return new ValuesPage(
        YAML.readTree(Files.readString(values)),
        new ObjectMapper().readTree(Files.readString(chart.resolve("values.schema.json"))),
        comments(Files.readAllLines(values)));
  }

  /** The page's whole text. */
  public String text() {
    var all = new StringBuilder(HEAD);
    var single = new ArrayList<String>();
    var sections = new StringBuilder();
    defaults
        .properties()
        .forEach(
            top -> {
              JsonNode described = schema.path("properties").path(top.getKey());
              if (isGroup(top.getValue(), described)) {
                var rows = new ArrayList<String>();
                rows(top.getKey(), top.getValue(), described, rows);
                section("`" + top.getKey() + "`", meaning(top.getKey(), described), rows, sections);
              } else {
                rows(top.getKey(), top.getValue(), described, single);
              }
            });
    section("Values without a group", "", single, all);
    return all.append(sections).toString();
  }

  private static void section(String title, String meaning, List<String> rows, StringBuilder into) {
    into.append("\n## ").append(title).append("\n\n");
    if (!meaning.isEmpty()) {
      into.append(meaning).append("\n\n");
    }
    into.append("| value | default | type | meaning |\n|---|---|---|---|\n");
    rows.forEach(row -> into.append(row).append('\n'));
  }

  private void rows(String path, JsonNode value, JsonNode given, List<String> rows) {
    JsonNode described = resolved(given);
    if (!isGroup(value, described)) {
      rows.add(
          "| `%s` | `%s` | %s | %s |"
              .formatted(path, escaped(value.toString()), type(described), meaning(path, given)));
      return;
    }
    if (path.contains(".")) {
      rows.add("| `%s` | | | %s |".formatted(path, meaning(path, given)));
    }
    value
        .properties()
        .forEach(
            entry ->
                rows(
                    path + "." + entry.getKey(),
                    entry.getValue(),
                    described.path("properties").path(entry.getKey()),
                    rows));
  }

  /** A map whose keys are the chart's and not the user's. */
  private boolean isGroup(JsonNode value, JsonNode described) {
    return value.isObject() && !value.isEmpty() && resolved(described).has("properties");
  }

  private JsonNode resolved(JsonNode described) {
    String reference = described.path("$ref").asText(described.at("/allOf/0/$ref").asText(""));
    return reference.isEmpty() ? described : schema.at(reference.substring(1));
  }

  private String meaning(String path, JsonNode described) {
    String comment = comments.get(path);
    return escaped(comment != null ? comment : described.path("description").asText());
  }

  private static String type(JsonNode described) {
    if (described.has("enum")) {
      return words(described.path("enum"), "`", ", ");
    }
    JsonNode type = described.path("type");
    String name = type.isArray() ? words(type, "", " or ") : type.asText();
    String bounds =
        bound(described, "minimum", "at least ") + bound(described, "maximum", "at most ");
    return name.isEmpty() ? "any" : name + bounds;
  }

  private static String bound(JsonNode described, String key, String word) {
    return described.has(key) ? ", " + word + described.path(key).asText() : "";
  }

  private static String words(JsonNode list, String mark, String between) {
    return StreamSupport.stream(list.spliterator(), false)
        .map(JsonNode::asText)
        .distinct()
        .map(word -> mark + (word.isEmpty() ? "\"\"" : word) + mark)
        .collect(Collectors.joining(between));
  }

  private static String escaped(String text) {
    return text.replace("|", "\\|");
  }

  /** The comment directly above each key, by the key's path. */
  private static Map<String, String> comments(List<String> lines) {
    var comments = new LinkedHashMap<String, String>();
    var path = new ArrayList<String>();
    var comment = new ArrayList<String>();
    for (String line : lines) {
      String stripped = line.strip();
      if (stripped.startsWith("#")) {
        comment.add(stripped.substring(1).strip());
        continue;
      }
      String key = key(line, path);
      if (key != null && !comment.isEmpty()) {
        comments.put(key, String.join(" ", comment));
      }
      comment.clear();
    }
    return comments;
  }

  /** The path of the key in a line, null where none is; two spaces are one level. */
  private static @Nullable String key(String line, List<String> path) {
    Matcher found = KEY.matcher(line);
    if (!found.matches()) {
      return null;
    }
    int level = found.group(1).length() / 2;
    if (level > path.size()) {
      // Below an entry of a list.
      return null;
    }
    path.subList(level, path.size()).clear();
    path.add(found.group(2));
    return String.join(".", path);
  }
}
