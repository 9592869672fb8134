package dev.tranche.e2e.release;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.joining;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * The licences of everything in the image, in one text. Each component's own text is preferred;
 * SPDX's text stands for a component that brings none.
 */
final class Licences {
  private static final Pattern TEXT =
      Pattern.compile("(?i)(META-INF/)?(LICEN[SC]E|NOTICE|COPYING|AL2\\.0|LGPL2\\.1)(\\.\\w+)?");

  /** By text, since many components have the same. */
  private final LinkedHashMap<String, TreeSet<String>> texts = new LinkedHashMap<>();

  /** By the licence's id. */
  private final Map<String, String> spdx = new HashMap<>();

  private final List<String> table = new ArrayList<>();
  private final List<String> missing = new ArrayList<>();
  private final Path lib;
  private final Path modules;
  private final List<Path> documents;
  private final Path legal;

  /**
   * @param lib the folder of the jars
   * @param modules the folder of the npm packages
   * @param documents folders with PACKAGE/copyright of Debian, the first one first
   * @param legal the folder of the Java runtime's licences
   */
  Licences(Path lib, Path modules, List<Path> documents, Path legal) {
    this.lib = lib;
    this.modules = modules;
    this.documents = documents;
    this.legal = legal;
  }

  void addAll(Collection<JsonObject> components) throws IOException {
    for (JsonObject component : components) {
      for (Object licence : component.getJsonArray("licenses", new JsonArray())) {
        keepSpdx(((JsonObject) licence).getJsonObject("license", new JsonObject()));
      }
    }
    for (JsonObject component : components) {
      add(component);
    }
  }

  private void keepSpdx(JsonObject licence) {
    JsonObject text = licence.getJsonObject("text");
    if (text != null) {
      byte[] content = text.getString("content").getBytes(UTF_8);
      boolean packed = "base64".equals(text.getString("encoding"));
      spdx.put(nameOf(licence), text(packed ? Base64.getMimeDecoder().decode(content) : content));
    }
  }

  private static String nameOf(JsonObject licence) {
    return licence.getString("id", licence.getString("name", ""));
  }

  private void add(JsonObject component) throws IOException {
    String name = component.getString("name") + " " + component.getString("version");
    String purl = component.getString("purl");
    JsonArray licences = component.getJsonArray("licenses", new JsonArray());
    String copyright = component.getString("copyright", "");
    table.add(
        "%s: %s".formatted(name, names(licences)) + (copyright.isEmpty() ? "" : "; " + copyright));
    List<String> found =
        purl.startsWith("pkg:maven/")
            ? ofJar(component)
            : purl.startsWith("pkg:npm/")
                ? texts(modules.resolve(component.getString("name")))
                : purl.startsWith("pkg:deb/")
                    ? ofDebian(component.getString("name"))
                    : purl.startsWith("pkg:generic/openjdk") ? texts(legal) : List.of();
    if (found.isEmpty()) {
      found = ofSpdx(licences);
    }
    if (found.isEmpty()) {
      missing.add(name);
    }
    found.forEach(text -> texts.computeIfAbsent(text, t -> new TreeSet<>()).add(name));
  }

  private static String names(JsonArray licences) {
    return licences.stream()
        .map(JsonObject.class::cast)
        .map(
            of ->
                of.containsKey("expression")
                    ? of.getString("expression")
                    : nameOf(of.getJsonObject("license")))
        .collect(joining(" or "));
  }

  private List<String> ofJar(JsonObject component) throws IOException {
    Path file = lib.resolve(Bom.jar(component));
    List<String> found = new ArrayList<>();
    try (ZipFile jar = new ZipFile(file.toFile())) {
      for (ZipEntry entry : jar.stream().filter(e -> isText(e.getName())).toList()) {
        found.add(text(jar.getInputStream(entry).readAllBytes()));
      }
    }
    return found.isEmpty() && "org.bouncycastle".equals(component.getString("group"))
        ? ofBouncyCastle()
        : found;
  }

  /** Its licence is a constant of a class in one of its jars. */
  private List<String> ofBouncyCastle() throws IOException {
    try (var files = Files.newDirectoryStream(lib, "bcprov-*.jar")) {
      List<URL> jars = new ArrayList<>();
      for (Path file : files) {
        jars.add(file.toUri().toURL());
      }
      try (URLClassLoader loader = new URLClassLoader(jars.toArray(URL[]::new))) {
        Object text =
            loader.loadClass("org.bouncycastle.LICENSE").getField("licenseText").get(null);
        return List.of(String.valueOf(text).replace("\r\n", "\n").strip());
      }
    } catch (ReflectiveOperationException e) {
      // The caller names the component as one without a text.
      return List.of();
    }
  }

  private List<String> ofDebian(String name) throws IOException {
    for (Path folder : documents) {
      Path file = folder.resolve(name).resolve("copyright");
      if (Files.exists(file)) {
        return List.of(text(Files.readAllBytes(file)));
      }
    }
    return List.of();
  }

  /** Those of the files of a folder, or of the folders in it. */
  private static List<String> texts(Path folder) throws IOException {
    List<String> found = new ArrayList<>();
    try (var files = Files.walk(folder, 2)) {
      for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
        String name = file.getFileName().toString();
        if (isText(name) || folder.endsWith("legal")) {
          found.add(text(Files.readAllBytes(file)));
        }
      }
    }
    return found.stream().distinct().toList();
  }

  private List<String> ofSpdx(JsonArray licences) {
    List<String> found = new ArrayList<>();
    for (Object licence : licences) {
      String text =
          spdx.get(nameOf(((JsonObject) licence).getJsonObject("license", new JsonObject())));
      if (text != null) {
        found.add(text);
      }
    }
    return found;
  }

  private static boolean isText(String name) {
    return TEXT.matcher(name).matches();
  }

  private static String text(byte[] content) {
    return new String(content, UTF_8).replace("\r\n", "\n").strip();
  }

  /** Names of components that have a licence, but no text of it anywhere. */
  List<String> missing() {
    return missing;
  }

  String text() {
    StringBuilder all = new StringBuilder("Tranche's image contains these components.\n\n");
    table.forEach(line -> all.append(line).append('\n'));
    texts.forEach(
        (text, names) ->
            all.append("\n\n")
                .append("=".repeat(80))
                .append('\n')
                .append(String.join(", ", names))
                .append("\n\n")
                .append(text)
                .append('\n'));
    return all.toString();
  }
}
