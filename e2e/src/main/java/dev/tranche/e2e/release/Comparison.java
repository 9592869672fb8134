package dev.tranche.e2e.release;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * Compares two releases of the same sources. Only the layer with the AOT caches may differ, since a
 * JVM records them as it runs, and what has its digest.
 */
final class Comparison {
  /** The layer that may differ. */
  static final String AOT = "aot";

  private final Path first;
  private final Path second;
  private final List<String> differences = new ArrayList<>();
  private final List<String> equal = new ArrayList<>();

  private Comparison(Path first, Path second) {
    this.first = first;
    this.second = second;
  }

  static Comparison of(Path first, Path second) throws IOException {
    Comparison comparison = new Comparison(first, second);
    comparison.files();
    comparison.images();
    return comparison;
  }

  /** What differs and may not, a line each. */
  List<String> differences() {
    return differences;
  }

  /** What is the same in both, byte by byte. */
  List<String> equal() {
    return equal;
  }

  private void files() throws IOException {
    TreeSet<String> names = new TreeSet<>(files(first));
    names.addAll(files(second));
    for (String name : names) {
      Path one = first.resolve(name);
      Path other = second.resolve(name);
      if (!Files.exists(one) || !Files.exists(other)) {
        differences.add(name + " is in one of them only");
      } else if (Files.mismatch(one, other) >= 0) {
        differences.add("%s differs at byte %d".formatted(name, Files.mismatch(one, other)));
      } else {
        equal.add(name);
      }
    }
  }

  /** All but the image, and what has its digest. */
  private static List<String> files(Path folder) throws IOException {
    try (var files = Files.walk(folder)) {
      return files
          .filter(Files::isRegularFile)
          .map(file -> folder.relativize(file).toString())
          .filter(name -> !name.startsWith("image/") && !name.endsWith(".tar"))
          .filter(name -> !name.equals("SHA256SUMS"))
          .toList();
    }
  }

  private void images() throws IOException {
    OciLayout one = new OciLayout(first.resolve("image"));
    OciLayout other = new OciLayout(second.resolve("image"));
    JsonArray ours = one.manifest().getJsonArray("layers");
    JsonArray theirs = other.manifest().getJsonArray("layers");
    if (ours.size() != theirs.size()) {
      differences.add("the images have %d and %d layers".formatted(ours.size(), theirs.size()));
      return;
    }
    JsonObject config = one.config();
    JsonObject otherConfig = other.config();
    for (int i = 0; i < ours.size(); i++) {
      String name = layer(ours, i);
      if (name.equals(AOT)) {
        continue;
      }
      add("the image's layer " + name, digest(ours, i).equals(digest(theirs, i)));
    }
    add("the image's configuration", withoutDigests(config).equals(withoutDigests(otherConfig)));
  }

  private void add(String what, boolean same) {
    if (same) {
      equal.add(what);
    } else {
      differences.add(what + " differs");
    }
  }

  private static JsonObject withoutDigests(JsonObject config) {
    JsonObject copy = config.copy();
    copy.remove("rootfs");
    return copy;
  }

  private static String layer(JsonArray layers, int index) {
    return layers.getJsonObject(index).getJsonObject("annotations").getString(OciLayout.LAYER);
  }

  private static String digest(JsonArray layers, int index) {
    return layers.getJsonObject(index).getString("digest");
  }
}
