package dev.tranche.e2e.release;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The bill of materials of the image, as <a href="https://cyclonedx.org">CycloneDX</a> writes it.
 * Maven's bills of the parts name the jars; the rest is found in the image and in the lock file of
 * the web page.
 */
final class Bom {
  private static final Map<String, String> DEBIAN_LICENCES =
      Map.of(
          "libc6", "LGPL-2.1-or-later",
          "libgcc-s1", "GPL-3.0-or-later WITH GCC-exception-3.1",
          "libstdc++6", "GPL-3.0-or-later WITH GCC-exception-3.1",
          "zlib1g", "Zlib");

  private final TreeMap<String, JsonObject> components = new TreeMap<>();

  /** Adds what a part is, and all that Maven found it to need. */
  void addMaven(JsonObject bom) {
    add(bom.getJsonObject("metadata").getJsonObject("component"));
    for (Object component : bom.getJsonArray("components")) {
      add((JsonObject) component);
    }
  }

  private void add(JsonObject component) {
    JsonObject copy = component.copy();
    // All of it is in the image, wherever a part's own pom has it.
    copy.remove("scope");
    if ("org.bouncycastle".equals(copy.getString("group"))) {
      // Its pom has a name of its own for it.
      copy.put("licenses", expression("MIT"))
          .put("copyright", "Copyright (c) The Legion of the Bouncy Castle Inc.");
    }
    components.put(copy.getString("purl"), copy);
  }

  /** Adds the packages of a lock file of npm that get into the page. */
  void addNpm(JsonObject lock) {
    JsonObject packages = lock.getJsonObject("packages");
    for (String path : packages.fieldNames()) {
      JsonObject found = packages.getJsonObject(path);
      if (path.isEmpty() || found.getBoolean("dev", false)) {
        continue;
      }
      String name = path.substring(path.lastIndexOf("node_modules/") + "node_modules/".length());
      String version = found.getString("version");
      add(
          component(name, version, "pkg:npm/" + name.replace("@", "%40") + "@" + version)
              .put("licenses", expression(found.getString("license"))));
    }
  }

  /**
   * Adds the Java runtime.
   *
   * @param release the file "release" of the JDK
   */
  void addJava(String release) {
    String version = quoted(release, "JAVA_RUNTIME_VERSION");
    add(
        component("openjdk", version, "pkg:generic/openjdk@" + version.replace("+", "%2B"))
            .put("supplier", new JsonObject().put("name", quoted(release, "IMPLEMENTOR")))
            .put("licenses", expression("GPL-2.0-only WITH Classpath-exception-2.0")));
  }

  /** JNA's native library contains it. */
  void addLibffi() {
    add(
        component("libffi", "in JNA", "pkg:generic/libffi")
            .put("copyright", "Copyright (c) Anthony Green, Red Hat, Inc and others")
            .put("licenses", expression("MIT")));
  }

  /**
   * Adds a package of Debian.
   *
   * @param status its paragraph of dpkg's status file
   */
  void addDebian(String status) {
    String name = field(status, "Package");
    String version = field(status, "Version");
    String licence =
        DEBIAN_LICENCES.getOrDefault(
            name, name.matches("gcc-\\d+-base") ? DEBIAN_LICENCES.get("libgcc-s1") : null);
    if (licence == null) {
      throw new IllegalArgumentException("Bom knows no licence of Debian's package " + name);
    }
    String purl =
        "pkg:deb/debian/%s@%s?arch=%s"
            .formatted(
                name.replace("+", "%2B"),
                version.replace("+", "%2B"),
                field(status, "Architecture"));
    add(component(name, version, purl).put("licenses", expression(licence)));
  }

  private static JsonObject component(String name, String version, String purl) {
    return new JsonObject()
        .put("type", "library")
        .put("bom-ref", purl)
        .put("name", name)
        .put("version", version)
        .put("purl", purl);
  }

  private static JsonArray expression(String spdx) {
    return spdx.matches("[\\w.+-]+")
        ? new JsonArray().add(new JsonObject().put("license", new JsonObject().put("id", spdx)))
        : new JsonArray().add(new JsonObject().put("expression", spdx));
  }

  private static String quoted(String properties, String key) {
    return properties
        .lines()
        .filter(line -> line.startsWith(key + "=\""))
        .findFirst()
        .map(line -> line.substring(key.length() + 2, line.length() - 1))
        .orElseThrow(() -> new IllegalArgumentException("the JDK's release file has no " + key));
  }

  private static String field(String paragraph, String name) {
    return paragraph
        .lines()
        .filter(line -> line.startsWith(name + ": "))
        .findFirst()
        .map(line -> line.substring(name.length() + 2))
        .orElseThrow(() -> new IllegalArgumentException("no " + name + " in: " + paragraph));
  }

  Collection<JsonObject> components() {
    return components.values();
  }

  /** Fails if a jar of the image is in no bill, or the other way round. */
  void checkJars(Path lib) throws IOException {
    TreeSet<String> named = new TreeSet<>();
    components.values().stream()
        .filter(component -> component.getString("purl").startsWith("pkg:maven/"))
        .forEach(component -> named.add(jar(component)));
    TreeSet<String> found = new TreeSet<>();
    try (var files = Files.list(lib)) {
      files.forEach(file -> found.add(file.getFileName().toString()));
    }
    List<String> differences = new ArrayList<>();
    found.stream().filter(jar -> !named.contains(jar)).forEach(jar -> differences.add("+" + jar));
    named.stream().filter(jar -> !found.contains(jar)).forEach(jar -> differences.add("-" + jar));
    if (!differences.isEmpty()) {
      throw new IllegalArgumentException(
          "the image's jars (+) are not those of Maven's bills (-): " + differences);
    }
  }

  static String jar(JsonObject component) {
    return component.getString("name") + "-" + component.getString("version") + ".jar";
  }

  /** The bill itself. It has no texts of licences, and no time of its own. */
  JsonObject json(String image, String version, String created) {
    JsonArray list = new JsonArray();
    for (JsonObject component : components.values()) {
      JsonObject copy = component.copy();
      JsonArray licences = copy.getJsonArray("licenses", new JsonArray());
      for (int i = 0; i < licences.size(); i++) {
        JsonObject licence = licences.getJsonObject(i).getJsonObject("license");
        if (licence != null) {
          licence.remove("text");
        }
      }
      list.add(copy);
    }
    JsonObject subject = component(image, version, "pkg:oci/" + image.replaceFirst(".*/", ""));
    return new JsonObject()
        .put("bomFormat", "CycloneDX")
        .put("specVersion", "1.6")
        .put("version", 1)
        .put(
            "metadata",
            new JsonObject()
                .put("timestamp", created)
                .put("component", subject.put("type", "container")))
        .put("components", list);
  }
}
