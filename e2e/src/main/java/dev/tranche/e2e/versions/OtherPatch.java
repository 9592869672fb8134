package dev.tranche.e2e.versions;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A Go module that the stand-in takes from another patch than the rest of a Kubernetes version.
 *
 * @param kubernetes the version, {@code v1.31.13}
 * @param module {@code k8s.io/kube-proxy}
 * @param patch of the module, {@code v0.31.11}
 */
record OtherPatch(String kubernetes, String module, String patch) {
  static List<OtherPatch> readAll(Path root) throws IOException {
    return Files.readAllLines(root.resolve("e2e/stand-in/build/other-patches")).stream()
        .filter(line -> !line.startsWith("#"))
        .map(OtherPatch::of)
        .toList();
  }

  private static OtherPatch of(String line) {
    String[] words = line.split(" ", -1);
    if (words.length != 3) {
      throw new IllegalArgumentException(
          "other-patches has the line \"%s\"; a line is KUBERNETES MODULE PATCH".formatted(line));
    }
    return new OtherPatch(words[0], words[1], words[2]);
  }
}
