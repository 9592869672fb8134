package dev.tranche.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.tranche.e2e.chart.DocumentedMetrics;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/**
 * Everything that a user can name is in one list, so that a change shows what comes and what goes.
 */
class SurfaceTest {
  private static final Path ROOT = Path.of("..");
  private static final Path LIST = Path.of("src/test/resources/surface.txt");
  private static final Path FOUND = Path.of("target/surface.txt");

  /** A setting of a process, as the formatter writes it. */
  private static final Pattern SETTING = Pattern.compile("(?m)(?<=^  )[A-Z][A-Z_]+(?=\\()");

  private static final Pattern NODE_SETTING = Pattern.compile("(?m)^\\| (`--.*?) \\| (\\S*) \\|");
  private static final Pattern CODE = Pattern.compile("(?<=`)[^` ]+(?=`)");

  /** Annotations, labels, taints and resources, ours and those of systems that we work with. */
  private static final Pattern NAME =
      Pattern.compile(
          "(?<![\\w./-])(?:tranche\\.dev|nvidia\\.com|hami\\.io|kai\\.scheduler|startup-taint[\\w.-]+)/[\\w.-]*\\w");

  private static final Pattern WEBHOOK_PATH = Pattern.compile("(?<=\")/mutate/\\w+");
  private static final Pattern STATUS = Pattern.compile("(?<=(?:USAGE|FAILED) = )\\d(?=;)");
  private static final Pattern COMMAND =
      Pattern.compile("(?m)(?<=^  kubectl )tranche [a-z-]+|(?<![\\w-])--?[a-zA-Z][a-z-]*");

  private static final Pattern KUBECTL_STATUS = Pattern.compile("(?m)(?<=^\\| )\\d(?= \\|)");
  private static final Pattern VERIFY_OPTION = Pattern.compile("(?<=names = \")--[\\w-]+");
  private static final Pattern VERIFY_STATUS = Pattern.compile("\\d(?= (?:if|for) )");
  private static final String MAIN = "/src/main/java/dev/tranche/";

  private final TreeSet<String> lines = new TreeSet<>();

  @Test
  void whatUsersCanName_isInTheList() throws IOException {
    addSettings();
    JsonNode values = json("charts/tranche/values.schema.json");
    addValues("value", values, values);
    addMetrics();
    addApi(yaml("extender/readapi/src/main/resources/dev/tranche/extender/readapi/openapi.yaml"));
    addNames();
    addCommands();
    EventIndexTest.indexed().forEach(reason -> lines.add("event " + reason));
    Files.write(FOUND, lines);
    List<String> before = Files.readAllLines(LIST);
    assertThat(
            Stream.concat(
                before.stream().filter(line -> !lines.contains(line)).map(line -> "gone: " + line),
                lines.stream().filter(line -> !before.contains(line)).map(line -> "new: " + line)))
        .as("if that is meant, run: cp e2e/%s e2e/%s", FOUND, LIST)
        .isEmpty();
    assertThat(before).isSorted();
  }

  /** What each process lists with {@code --help}. */
  private void addSettings() throws IOException {
    for (String file :
        List.of("extender" + MAIN + "extender/Extender", "webhook" + MAIN + "webhook/Webhook")) {
      SETTING
          .matcher(text(file + "Setting.java"))
          .results()
          .map(name -> name.group().toLowerCase(Locale.ROOT).replace('_', '-'))
          .forEach(flag -> lines.add("flag " + file.split("/")[0] + " --" + flag));
    }
    NODE_SETTING
        .matcher(text("docs/node-plugin-config.md"))
        .results()
        .forEach(
            row -> {
              addAll("flag node-plugin ", CODE, row.group(1));
              addAll("file node-plugin ", CODE, row.group(2));
            });
  }

  private void addValues(String path, JsonNode schema, JsonNode whole) {
    if (schema.has("$ref")) {
      addValues(path, whole.at(schema.get("$ref").asText().substring(1)), whole);
    }
    schema.path("enum").forEach(each -> lines.add(path + " = " + each));
    for (String kind : List.of("allOf", "anyOf", "oneOf")) {
      schema.path(kind).forEach(each -> addValues(path, each, whole));
    }
    if (schema.has("items")) {
      addValues(path + "[]", schema.get("items"), whole);
    }
    schema
        .path("properties")
        .properties()
        .forEach(
            each -> {
              String name = path + (path.equals("value") ? " " : ".") + each.getKey();
              lines.add(name);
              addValues(name, each.getValue(), whole);
            });
  }

  private void addMetrics() throws IOException {
    for (String heading : text("docs/monitoring.md").split("(?m)^## ")) {
      String part = heading.lines().findFirst().orElse("");
      DocumentedMetrics.of(part).metrics().stream()
          .map(m -> "metric %s %s%s".formatted(m.name(), m.type(), new TreeSet<>(m.labels())))
          .forEach(lines::add);
    }
  }

  private void addApi(JsonNode document) {
    for (Map.Entry<String, JsonNode> path : document.get("paths").properties()) {
      for (Map.Entry<String, JsonNode> method : path.getValue().properties()) {
        String name = method.getKey().toUpperCase(Locale.ROOT) + " " + path.getKey();
        JsonNode operation = method.getValue();
        lines.add("endpoint " + name);
        operation
            .path("parameters")
            .forEach(
                each -> lines.add("endpoint %s ?%s".formatted(name, each.get("name").asText())));
        operation
            .path("responses")
            .fieldNames()
            .forEachRemaining(status -> lines.add("endpoint %s %s".formatted(name, status)));
      }
    }
    for (Map.Entry<String, JsonNode> type : document.at("/components/schemas").properties()) {
      String name = "field " + type.getKey();
      type.getValue().path("enum").forEach(each -> lines.add(name + " = " + each));
      type.getValue()
          .path("properties")
          .fieldNames()
          .forEachRemaining(field -> lines.add(name + "." + field));
    }
    for (String path : List.of("/metrics", "/healthz", "/readyz")) {
      lines.add("endpoint GET " + path);
    }
  }

  private void addNames() throws IOException {
    for (String module : List.of("api", "process", "webhook", "extender", "node-plugin")) {
      for (Path file : Sources.of(module, "main")) {
        String text = Files.readString(file);
        addAll("name ", NAME, text);
        addAll("endpoint POST ", WEBHOOK_PATH, text);
        addAll("exit status of the %s ".formatted(module), STATUS, text);
      }
    }
    try (var files = Files.walk(ROOT.resolve("charts/tranche"))) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        addAll("name ", NAME, Files.readString(file));
      }
    }
  }

  private void addCommands() throws IOException {
    String script = text("deploy/kubectl/kubectl-tranche");
    String usage = script.substring(script.indexOf("<<'USAGE'"), script.indexOf("\nUSAGE\n"));
    addAll("kubectl ", COMMAND, usage);
    addAll("exit status of kubectl tranche ", KUBECTL_STATUS, text("docs/kubectl.md"));
    addAll("verify-gpu ", VERIFY_OPTION, text("e2e/verify" + MAIN + "e2e/verify/VerifyGpu.java"));
    addAll("exit status of verify-gpu ", VERIFY_STATUS, text("docs/gpu-support.md"));
  }

  private void addAll(String kind, Pattern pattern, String text) {
    pattern.matcher(text).results().forEach(found -> lines.add(kind + found.group()));
  }

  private static String text(String file) throws IOException {
    return Files.readString(ROOT.resolve(file));
  }

  private static JsonNode json(String file) throws IOException {
    return new ObjectMapper().readTree(ROOT.resolve(file).toFile());
  }

  private static JsonNode yaml(String file) throws IOException {
    var options = new LoaderOptions();
    options.setMaxAliasesForCollections(Integer.MAX_VALUE);
    return new ObjectMapper()
        .valueToTree(new Yaml(new SafeConstructor(options)).<Object>load(text(file)));
  }
}
