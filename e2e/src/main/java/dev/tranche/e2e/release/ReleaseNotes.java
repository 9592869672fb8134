package dev.tranche.e2e.release;

import java.util.List;
import java.util.stream.Collectors;

/** The part of CHANGELOG.md that is about one version. */
final class ReleaseNotes {
  private ReleaseNotes() {}

  /**
   * Returns the notes of a version, without its heading.
   *
   * @param changelog the whole file, with a heading "## 1.2.3" for each version
   * @throws IllegalArgumentException if the changelog says nothing of the version
   */
  static String of(String version, String changelog) {
    List<String> lines =
        changelog
            .lines()
            .dropWhile(line -> !isHeading(line, version))
            .skip(1)
            .takeWhile(line -> !line.startsWith("## "))
            .toList();
    String notes = lines.stream().collect(Collectors.joining("\n")).strip();
    if (notes.isEmpty()) {
      throw new IllegalArgumentException(
          "CHANGELOG.md says nothing of %s; write it under \"## %s\"".formatted(version, version));
    }
    return notes + "\n";
  }

  private static boolean isHeading(String line, String version) {
    return line.equals("## " + version) || line.startsWith("## " + version + " ");
  }
}
