package dev.tranche.e2e.release;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The bill of materials of an image, and the licences of what it names. */
class BomTest {
  private static final String LIBC =
      """
      Package: libc6
      Status: install ok installed
      Architecture: amd64
      Version: 2.36-9+deb12u10
      """;
  private static final String JDK =
      "IMPLEMENTOR=\"Example\"\nJAVA_RUNTIME_VERSION=\"25.0.3+9-LTS\"\nJAVA_VERSION=\"25.0.3\"\n";

  @TempDir Path folder;

  private final Bom bom = new Bom();

  @BeforeEach
  void fill() {
    bom.addMaven(
        new JsonObject()
            .put("metadata", new JsonObject().put("component", maven("part", "1", "Apache-2.0")))
            .put(
                "components",
                new JsonArray()
                    .add(maven("lib", "2.0", "MIT").put("scope", "optional"))
                    .add(maven("silent", "3", "BSD-3-Clause"))));
    bom.addNpm(
        new JsonObject(
            """
            {"packages": {
              "": {"name": "page"},
              "node_modules/@a/b": {"version": "1.2.3", "license": "MIT"},
              "node_modules/tool": {"version": "9.0.0", "license": "MIT", "dev": true}
            }}
            """));
    bom.addJava(JDK);
    bom.addDebian(LIBC);
  }

  private static JsonObject maven(String name, String version, String licence) {
    String text = Base64.getEncoder().encodeToString(("SPDX's " + licence).getBytes(UTF_8));
    JsonObject content = new JsonObject().put("content", text).put("encoding", "base64");
    return new JsonObject()
        .put("type", "library")
        .put("name", name)
        .put("version", version)
        .put("purl", "pkg:maven/example/%s@%s?type=jar".formatted(name, version))
        .put(
            "licenses",
            new JsonArray()
                .add(
                    new JsonObject()
                        .put("license", new JsonObject().put("id", licence).put("text", content))));
  }

  private void jar(String name, String... texts) throws IOException {
    Path lib = Files.createDirectories(folder.resolve("lib"));
    try (OutputStream file = Files.newOutputStream(lib.resolve(name));
        ZipOutputStream zip = new ZipOutputStream(file)) {
      zip.putNextEntry(new ZipEntry("a/LicenseCheck.class"));
      for (String text : texts) {
        zip.putNextEntry(new ZipEntry("META-INF/" + text));
        zip.write((text + " of " + name).getBytes(UTF_8));
      }
    }
  }

  private void file(String name, String content) throws IOException {
    Path file = folder.resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, content);
  }

  @Test
  void lockFileOfThePage_isWhereTheReleaseReadsIt() {
    assertThat(Path.of("..", Release.NPM_LOCK)).exists();
  }

  @Test
  void components_areThoseOfTheImage_eachOnce() {
    JsonObject json = bom.json("example/a", "1.0.0", "2026-01-01T00:00:00Z");
    assertThat(json.getJsonArray("components"))
        .extracting(component -> ((JsonObject) component).getString("purl"))
        .containsExactly(
            "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64",
            "pkg:generic/openjdk@25.0.3%2B9-LTS",
            "pkg:maven/example/lib@2.0?type=jar",
            "pkg:maven/example/part@1?type=jar",
            "pkg:maven/example/silent@3?type=jar",
            "pkg:npm/%40a/b@1.2.3");
    assertThat(json.encode()).doesNotContain("optional", "base64", "serialNumber");
    assertThat(json.getJsonObject("metadata").getString("timestamp"))
        .isEqualTo("2026-01-01T00:00:00Z");
  }

  @Test
  void jarThatIsInNoBill_andOneThatIsMissing_areNamed() throws IOException {
    jar("part-1.jar");
    jar("lib-2.0.jar");
    jar("other-1.jar");
    assertThatThrownBy(() -> bom.checkJars(folder.resolve("lib")))
        .hasMessageEndingWith("[+other-1.jar, -silent-3.jar]");
    Files.delete(folder.resolve("lib/other-1.jar"));
    jar("silent-3.jar");
    bom.checkJars(folder.resolve("lib"));
  }

  @Test
  void debianPackageWhoseLicenceIsNotKnown_isRefused() {
    assertThatThrownBy(() -> bom.addDebian(LIBC.replace("libc6", "bash")))
        .hasMessageContaining("Debian's package bash");
  }

  private Licences licences() throws IOException {
    jar("part-1.jar", "LICENSE", "NOTICE.txt");
    jar("lib-2.0.jar", "LICENSE");
    jar("silent-3.jar");
    file("modules/@a/b/LICENSE", "licence of b");
    file("doc/libc6/copyright", "copyright of libc6");
    file("legal/java.base/zlib.md", "zlib in the JDK");
    Licences licences =
        new Licences(
            folder.resolve("lib"),
            folder.resolve("modules"),
            List.of(folder.resolve("none"), folder.resolve("doc")),
            folder.resolve("legal"));
    licences.addAll(bom.components());
    return licences;
  }

  @Test
  void licences_areTheComponentsOwn_elseThoseOfSpdx() throws IOException {
    bom.addLibffi();
    Licences licences = licences();
    assertThat(licences.missing()).isEmpty();
    assertThat(licences.text())
        .contains("libc6 2.36-9+deb12u10: LGPL-2.1-or-later\n", "lib 2.0: MIT\n")
        .contains("LICENSE of part-1.jar", "NOTICE.txt of part-1.jar", "licence of b")
        .contains("copyright of libc6", "zlib in the JDK", "SPDX's BSD-3-Clause")
        .contains("Anthony Green")
        // For libffi, which brings none.
        .containsOnlyOnce("SPDX's MIT");
  }

  @Test
  void componentWithoutTextOfItsLicence_isNamed() throws IOException {
    bom.addNpm(
        new JsonObject(
            "{\"packages\": {\"node_modules/c\": {\"version\": \"1.0.0\", \"license\": \"ISC\"}}}"));
    file("modules/c/README.md", "no licence");
    assertThat(licences().missing()).containsExactly("c 1.0.0");
  }
}
