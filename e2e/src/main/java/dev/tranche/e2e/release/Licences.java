package dev.tranche.e2e.release;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.joining;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The licences of everything in the image, in one text. The image itself has the files that its
 * jars, its Java runtime and its packages of Debian bring.
 */
final class Licences {
  private static final String HEAD =
      """
      Tranche's image contains these components. It also has their own files: those of a jar in its
      META-INF, of the Java runtime in /opt/tranche/runtime/legal, of Debian in /usr/share/doc.

      """;

  private Licences() {}

  /**
   * @param modules the folder of the npm packages, of which the image has one bundle
   * @throws IllegalArgumentException if the text of a licence is nowhere
   */
  static String text(Collection<JsonObject> components, Path modules) throws IOException {
    Map<String, String> texts = new TreeMap<>();
    for (JsonObject component : components) {
      licences(component).forEach(licence -> keep(licence, texts));
      if (component.getString("purl").startsWith("pkg:npm/")) {
        keep(component.getString("name"), modules, texts);
      }
    }
    List<String> missing =
        components.stream()
            .filter(component -> component.getString("purl").matches("pkg:(maven|npm)/.*"))
            .filter(component -> names(component).noneMatch(texts::containsKey))
            .map(component -> component.getString("name"))
            .toList();
    if (!missing.isEmpty()) {
      throw new IllegalArgumentException("no text of the licence of " + String.join(", ", missing));
    }
    String rule = "\n\n" + "=".repeat(80) + "\n";
    return HEAD
        + components.stream().map(Licences::line).collect(joining())
        + texts.entrySet().stream()
            .map(text -> rule + text.getKey() + "\n\n" + text.getValue() + "\n")
            .collect(joining());
  }

  private static String line(JsonObject component) {
    String copyright = component.getString("copyright");
    return "%s %s: %s%s\n"
        .formatted(
            component.getString("name"),
            component.getString("version"),
            licences(component).map(Licences::name).collect(joining(" or ")),
            copyright == null ? "" : "; " + copyright);
  }

  private static Stream<JsonObject> licences(JsonObject component) {
    return component.getJsonArray("licenses", new JsonArray()).stream()
        .map(JsonObject.class::cast)
        .map(choice -> choice.getJsonObject("license", choice));
  }

  private static String name(JsonObject licence) {
    return licence.getString("id", licence.getString("name", licence.getString("expression")));
  }

  /** Under which a text is kept: of its licences, or of the npm package itself. */
  private static Stream<String> names(JsonObject component) {
    return Stream.concat(
        licences(component).map(Licences::name), Stream.of(component.getString("name")));
  }

  private static void keep(JsonObject licence, Map<String, String> texts) {
    JsonObject text = licence.getJsonObject("text");
    if (text != null) {
      String content = text.getString("content");
      boolean packed = "base64".equals(text.getString("encoding"));
      keep(
          name(licence),
          packed ? new String(Base64.getMimeDecoder().decode(content), UTF_8) : content,
          texts);
    }
  }

  private static void keep(String name, Path modules, Map<String, String> texts)
      throws IOException {
    try (var files = Files.newDirectoryStream(modules.resolve(name), "LICEN[CS]E*")) {
      for (Path file : files) {
        keep(name, Files.readString(file), texts);
      }
    }
  }

  private static void keep(String name, String text, Map<String, String> texts) {
    texts.put(name, text.replace("\r\n", "\n").strip());
  }
}
