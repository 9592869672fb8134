package dev.tranche.e2e.versions;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.tranche.e2e.cluster.KubernetesVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * The last run on one minor version, as {@code docs/kubernetes/1.34.json} keeps it.
 *
 * @param version the full one, {@code v1.34.4}
 * @param programs the SHA-256 of the stand-in's programs
 * @param commit of Tranche
 */
record VersionResult(
    String version, String programs, String commit, String date, List<ScenarioResult> scenarios) {
  private static final ObjectMapper JSON = new ObjectMapper();

  static Path folder(Path root) {
    return root.resolve("docs/kubernetes");
  }

  /** Returns the results of all versions that have run, the oldest version first. */
  static List<VersionResult> readAll(Path root) throws IOException {
    var results = new ArrayList<VersionResult>();
    try (Stream<Path> files = Files.list(folder(root))) {
      for (Path file : files.toList()) {
        if (file.getFileName().toString().matches("[0-9]+\\.[0-9]+\\.json")) {
          results.add(JSON.readValue(file.toFile(), VersionResult.class));
        }
      }
    }
    results.sort(Comparator.comparingInt(VersionResult::minor));
    return results;
  }

  void write(Path root) throws IOException {
    Path file = Files.createDirectories(folder(root)).resolve("1." + minor() + ".json");
    Files.writeString(file, JSON.writerWithDefaultPrettyPrinter().writeValueAsString(this) + "\n");
  }

  int minor() {
    return KubernetesVersion.minor(version);
  }

  boolean hasPassed() {
    return scenarios.stream().allMatch(ScenarioResult::hasPassed);
  }
}
