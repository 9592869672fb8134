package dev.tranche.e2e.release;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.zip.Deflater;
import java.util.zip.GZIPOutputStream;

/**
 * A folder with an image, as the <a
 * href="https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md">OCI image
 * layout</a> describes it. The same layers and the same configuration make the same files.
 *
 * @param folder the folder
 */
record OciLayout(Path folder) {
  /** Marks each layer with the name of its tar file. */
  private static final String LAYER = "dev.tranche.layer";

  private static final String INDEX = "application/vnd.oci.image.index.v1+json";
  private static final String MANIFEST = "application/vnd.oci.image.manifest.v1+json";
  private static final String CONFIG = "application/vnd.oci.image.config.v1+json";
  private static final String TAR_GZIP = "application/vnd.oci.image.layer.v1.tar+gzip";
  private static final String REF = "org.opencontainers.image.ref.name";

  /**
   * What an image is besides its layers.
   *
   * @param name repository and tag
   * @param architecture as Go names it: amd64 or arm64
   * @param created the time of the sources, RFC 3339
   * @param config what containers inherit, as an engine shows it: Env, User, Labels
   */
  record Image(String name, String architecture, String created, JsonObject config) {}

  /** Writes an image of one architecture into an empty folder. */
  static OciLayout write(Path folder, Image image, List<Path> layers) throws IOException {
    OciLayout layout = new OciLayout(folder);
    Files.createDirectories(folder.resolve("blobs/sha256"));
    JsonArray diffs = new JsonArray();
    JsonArray history = new JsonArray();
    JsonArray descriptors = new JsonArray();
    for (Path layer : layers) {
      String name = layer.getFileName().toString().replaceFirst("\\.tar$", "");
      diffs.add("sha256:" + Digests.sha256(layer));
      history.add(new JsonObject().put("created", image.created()).put("created_by", name));
      JsonObject annotations = new JsonObject().put(LAYER, name);
      descriptors.add(layout.gzip(layer).put("annotations", annotations));
    }
    JsonObject config =
        layout.put(
            CONFIG,
            new JsonObject()
                .put("created", image.created())
                .put("architecture", image.architecture())
                .put("os", "linux")
                .put("config", image.config())
                .put("rootfs", new JsonObject().put("type", "layers").put("diff_ids", diffs))
                .put("history", history));
    JsonObject manifest =
        layout.put(
            MANIFEST,
            new JsonObject()
                .put("schemaVersion", 2)
                .put("mediaType", MANIFEST)
                .put("config", config)
                .put("layers", descriptors));
    JsonObject platform = new JsonObject().put("architecture", image.architecture());
    layout.index(manifest.put("platform", platform.put("os", "linux")), image.name());
    layout.archive(image.name(), config, descriptors);
    return layout;
  }

  /**
   * Writes one image for several architectures.
   *
   * @param layouts images of one name and different architectures
   * @throws IllegalArgumentException if they do not fit together, or a file has not its digest
   */
  static OciLayout join(Path folder, List<OciLayout> layouts) throws IOException {
    TreeMap<String, JsonObject> manifests = new TreeMap<>();
    List<String> names = layouts.stream().map(OciLayout::name).distinct().toList();
    if (names.size() != 1) {
      throw new IllegalArgumentException(
          "these layouts are of %d images, %s; give layouts of one image"
              .formatted(names.size(), String.join(", ", names)));
    }
    OciLayout joined = new OciLayout(folder);
    Files.createDirectories(folder.resolve("blobs/sha256"));
    for (OciLayout layout : layouts) {
      layout.check();
      JsonObject manifest = layout.manifestDescriptor();
      String architecture = manifest.getJsonObject("platform").getString("architecture");
      manifest.remove("annotations");
      if (manifests.put(architecture, manifest) != null) {
        throw new IllegalArgumentException(
            "two layouts are for %s; give one for each architecture".formatted(architecture));
      }
      for (Path blob : layout.blobs()) {
        Path copy = joined.blob(blob.getFileName().toString());
        if (!Files.exists(copy)) {
          Files.copy(blob, copy);
        }
      }
    }
    JsonObject index =
        joined.put(
            INDEX,
            new JsonObject()
                .put("schemaVersion", 2)
                .put("mediaType", INDEX)
                .put("manifests", new JsonArray(new ArrayList<>(manifests.values()))));
    joined.index(index, names.getFirst());
    return joined;
  }

  /** The repository and tag. */
  String name() {
    return manifestDescriptor().getJsonObject("annotations").getString("io.containerd.image.name");
  }

  /** The manifest of an image of one architecture. */
  JsonObject manifest() throws IOException {
    return read(manifestDescriptor());
  }

  JsonObject config() throws IOException {
    return read(manifest().getJsonObject("config"));
  }

  /** What the index names: a manifest, or the index of several. */
  JsonObject manifestDescriptor() {
    try {
      return json(folder.resolve("index.json")).getJsonArray("manifests").getJsonObject(0);
    } catch (IOException e) {
      throw new IllegalArgumentException(folder + " is no OCI image layout: " + e.getMessage(), e);
    }
  }

  JsonObject read(JsonObject descriptor) throws IOException {
    return json(blob(descriptor.getString("digest").substring("sha256:".length())));
  }

  /** Each file has the digest that is its name. */
  private void check() throws IOException {
    for (Path blob : blobs()) {
      String digest = Digests.sha256(blob);
      if (!digest.equals(blob.getFileName().toString())) {
        throw new IllegalArgumentException(
            "%s has the digest %s; copy the layout again".formatted(blob, digest));
      }
    }
  }

  private List<Path> blobs() throws IOException {
    try (var files = Files.list(folder.resolve("blobs/sha256"))) {
      return files.sorted().toList();
    }
  }

  private Path blob(String digest) {
    return folder.resolve("blobs/sha256").resolve(digest);
  }

  private JsonObject gzip(Path layer) throws IOException {
    Path written = folder.resolve("layer");
    try (InputStream from = Files.newInputStream(layer);
        OutputStream to = new BestGzip(Files.newOutputStream(written))) {
      from.transferTo(to);
    }
    return keep(TAR_GZIP, written);
  }

  private JsonObject put(String type, JsonObject content) throws IOException {
    return keep(type, Files.writeString(folder.resolve("json"), content.encode()));
  }

  private JsonObject keep(String type, Path file) throws IOException {
    String digest = Digests.sha256(file);
    JsonObject descriptor =
        new JsonObject()
            .put("mediaType", type)
            .put("digest", "sha256:" + digest)
            .put("size", Files.size(file));
    Files.move(file, blob(digest));
    return descriptor;
  }

  private void index(JsonObject descriptor, String name) throws IOException {
    // containerd and Docker take the full name; other tools look for the tag.
    JsonObject annotations = new JsonObject().put("io.containerd.image.name", name);
    annotations.put(REF, name.substring(name.lastIndexOf(':') + 1));
    JsonObject index =
        new JsonObject()
            .put("schemaVersion", 2)
            .put("mediaType", INDEX)
            .put("manifests", new JsonArray().add(descriptor.put("annotations", annotations)));
    Files.writeString(folder.resolve("index.json"), index.encodePrettily() + "\n");
    Files.writeString(folder.resolve("oci-layout"), "{\"imageLayoutVersion\": \"1.0.0\"}\n");
  }

  /** What {@code docker load} reads of a tar file with this folder. */
  private void archive(String name, JsonObject config, JsonArray layers) throws IOException {
    JsonArray files = new JsonArray();
    for (int i = 0; i < layers.size(); i++) {
      files.add(path(layers.getJsonObject(i)));
    }
    JsonObject image =
        new JsonObject()
            .put("Config", path(config))
            .put("RepoTags", new JsonArray().add(name))
            .put("Layers", files);
    Files.writeString(
        folder.resolve("manifest.json"), new JsonArray().add(image).encodePrettily() + "\n");
  }

  private static String path(JsonObject descriptor) {
    return "blobs/" + descriptor.getString("digest").replace(':', '/');
  }

  private static JsonObject json(Path file) throws IOException {
    return new JsonObject(Files.readString(file));
  }

  /** As small as zlib makes it, since an image is built once and pulled often. */
  private static final class BestGzip extends GZIPOutputStream {
    BestGzip(OutputStream out) throws IOException {
      super(out);
      def.setLevel(Deflater.BEST_COMPRESSION);
    }
  }
}
