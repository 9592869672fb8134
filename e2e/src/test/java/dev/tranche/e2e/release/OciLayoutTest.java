package dev.tranche.e2e.release;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OciLayoutTest {
  private static final JsonObject CONFIG = new JsonObject().put("User", "65532:65532");

  @TempDir Path folder;

  private OciLayout layout(String name, String architecture, String... layers) throws IOException {
    List<Path> files = new ArrayList<>();
    for (int i = 0; i < layers.length; i++) {
      Path file = folder.resolve(name + ".tars").resolve(i + "-layer.tar");
      Files.createDirectories(file.getParent());
      files.add(Files.writeString(file, layers[i]));
    }
    OciLayout.Image image =
        new OciLayout.Image("example/a:1.0.0", architecture, "2026-01-01T00:00:00Z", CONFIG);
    return OciLayout.write(folder.resolve(name), image, files);
  }

  private static Path blob(OciLayout layout, JsonObject descriptor) {
    return layout.folder().resolve("blobs").resolve(digest(descriptor).replace(':', '/'));
  }

  private static String digest(JsonObject descriptor) {
    return descriptor.getString("digest");
  }

  @Test
  void image_hasItsLayersInOrder_packedAndUnderTheirDigests() throws IOException {
    OciLayout layout = layout("a", "amd64", "first", "second");
    JsonArray layers = layout.manifest().getJsonArray("layers");
    JsonArray diffs = layout.config().getJsonObject("rootfs").getJsonArray("diff_ids");
    assertThat(layers).hasSize(2);
    for (int i = 0; i < 2; i++) {
      JsonObject layer = layers.getJsonObject(i);
      Path file = blob(layout, layer);
      assertThat(digest(layer)).isEqualTo("sha256:" + Digests.sha256(file));
      assertThat(layer.getLong("size")).isEqualTo(Files.size(file));
      ByteArrayOutputStream tar = new ByteArrayOutputStream();
      try (GZIPInputStream packed = new GZIPInputStream(Files.newInputStream(file))) {
        packed.transferTo(tar);
      }
      assertThat(tar).hasToString(i == 0 ? "first" : "second");
      Path plain = Files.write(folder.resolve("plain"), tar.toByteArray());
      assertThat(diffs.getString(i)).isEqualTo("sha256:" + Digests.sha256(plain));
    }
    assertThat(layout.config().getJsonObject("config")).isEqualTo(CONFIG);
    assertThat(layout.config().getString("architecture")).isEqualTo("amd64");
  }

  @Test
  void docker_findsTheSameFiles() throws IOException {
    OciLayout layout = layout("a", "amd64", "first");
    String manifest = Files.readString(layout.folder().resolve("manifest.json"));
    JsonObject image = new JsonArray(manifest).getJsonObject(0);
    assertThat(image.getJsonArray("RepoTags")).containsExactly("example/a:1.0.0");
    assertThat(layout.folder().resolve(image.getString("Config"))).exists();
    assertThat(layout.folder().resolve(image.getJsonArray("Layers").getString(0))).exists();
  }

  @Test
  void sameLayers_makeTheSameFiles() throws IOException {
    Path one = layout("a", "amd64", "first", "second").folder();
    Path other = layout("b", "amd64", "first", "second").folder();
    try (var files = Files.walk(one)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        assertThat(other.resolve(one.relativize(file))).hasSameBinaryContentAs(file);
      }
    }
  }

  @Test
  void joinedImage_hasBothArchitectures_andAllTheirFiles() throws IOException {
    OciLayout arm = layout("arm", "arm64", "common", "arm");
    OciLayout amd = layout("amd", "amd64", "common", "amd");
    OciLayout joined = OciLayout.join(folder.resolve("joined"), List.of(arm, amd));
    assertThat(joined.name()).isEqualTo("example/a:1.0.0");
    JsonArray manifests = joined.manifest().getJsonArray("manifests");
    assertThat(manifests).hasSize(2);
    assertThat(manifests.getJsonObject(0).getJsonObject("platform").getString("architecture"))
        .isEqualTo("amd64");
    for (int i = 0; i < 2; i++) {
      JsonObject manifest = joined.read(manifests.getJsonObject(i));
      assertThat(blob(joined, manifest.getJsonObject("config"))).exists();
      assertThat(manifest.getJsonArray("layers"))
          .allSatisfy(layer -> assertThat(blob(joined, (JsonObject) layer)).exists());
    }
    // Its one name cannot stand for two configurations.
    assertThat(joined.folder().resolve("manifest.json")).doesNotExist();
  }

  @Test
  void joinedTwice_isOneArchitectureTooMany() throws IOException {
    List<OciLayout> twice = List.of(layout("a", "amd64", "x"), layout("b", "amd64", "y"));
    assertThatThrownBy(() -> OciLayout.join(folder.resolve("joined"), twice))
        .hasMessageContaining("two layouts are for amd64");
  }

  @Test
  void damagedFile_isNotJoined() throws IOException {
    OciLayout layout = layout("a", "amd64", "x");
    Path file = blob(layout, layout.manifest().getJsonArray("layers").getJsonObject(0));
    Files.writeString(file, "damaged");
    assertThatThrownBy(() -> OciLayout.join(folder.resolve("joined"), List.of(layout)))
        .hasMessageContaining(file.getFileName().toString())
        .hasMessageContaining("copy the layout again");
  }
}
