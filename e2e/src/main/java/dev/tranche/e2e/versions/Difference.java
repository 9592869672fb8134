package dev.tranche.e2e.versions;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * A change of Kubernetes that Tranche or its users notice.
 *
 * @param since the first minor version that has it
 * @param what a sentence
 * @param reason a commit, an issue or a pull request of Kubernetes, or a KEP
 */
record Difference(String since, String what, String reason) {
  /** Returns whether the version {@code 1.MINOR} has it, and {@code 1.EARLIER} does not. */
  boolean isBetween(int earlier, int minor) {
    int first = Integer.parseInt(since.substring("1.".length()));
    return first > earlier && first <= minor;
  }

  static List<Difference> readAll(Path root) throws IOException {
    return new ObjectMapper()
        .readValue(
            VersionResult.folder(root).resolve("differences.json").toFile(),
            new TypeReference<List<Difference>>() {});
  }
}
