package dev.tranche.e2e.release;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
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
    for (String jar : List.of("part-1", "lib-2.0", "other-1")) {
      file("lib/" + jar + ".jar", "");
    }
    assertThatThrownBy(() -> bom.checkJars(folder.resolve("lib")))
        .hasMessageEndingWith("[+other-1.jar, -silent-3.jar]");
    Files.delete(folder.resolve("lib/other-1.jar"));
    file("lib/silent-3.jar", "");
    bom.checkJars(folder.resolve("lib"));
  }

  @Test
  void debianPackageWhoseLicenceIsNotKnown_isRefused() {
    assertThatThrownBy(() -> bom.addDebian(LIBC.replace("libc6", "bash")))
        .hasMessageContaining("Debian's package bash");
  }

  @Test
  void licences_areOfEveryComponent_andTheirTextsStandOnce() throws IOException {
    bom.addLibffi();
    JsonObject castle =
        maven("bcprov", "1", "Bouncy Castle Licence").put("group", "org.bouncycastle");
    bom.addMaven(
        new JsonObject()
            .put("metadata", new JsonObject().put("component", castle))
            .put("components", new JsonArray()));
    file("modules/@a/b/LICENSE", "licence of b");
    assertThat(Licences.text(bom.components(), folder.resolve("modules")))
        .contains("libc6 2.36-9+deb12u10: LGPL-2.1-or-later\n", "lib 2.0: MIT\n")
        .contains("licence of b", "SPDX's BSD-3-Clause", "Anthony Green")
        .contains("bcprov 1: MIT; Copyright (c) The Legion of the Bouncy Castle Inc.\n")
        .containsOnlyOnce("SPDX's MIT");
  }

  @Test
  void componentWithoutTextOfItsLicence_isNamed() throws IOException {
    bom.addNpm(
        new JsonObject(
            "{\"packages\": {\"node_modules/c\": {\"version\": \"1.0.0\", \"license\":"
                + " \"ISC\"}}}"));
    file("modules/@a/b/LICENSE", "licence of b");
    file("modules/c/README.md", "no licence");
    assertThatThrownBy(() -> Licences.text(bom.components(), folder.resolve("modules")))
        .hasMessage("no text of the licence of c");
  }
}
