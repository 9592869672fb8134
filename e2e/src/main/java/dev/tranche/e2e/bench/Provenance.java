package dev.tranche.e2e.bench;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;
import java.util.stream.Stream;

/** Which code measured, when, and on what kind of machine. Not on which one. */
final class Provenance {
  private static final Path CPU_INFO = Path.of("/proc/cpuinfo");

  private Provenance() {}

  static Results.Run of(Path root, List<Figure> figures) throws IOException, InterruptedException {
    return new Results.Run(
        commit(root), LocalDate.now(ZoneOffset.UTC).toString(), machine(), figures);
  }

  /** With a {@code +} where the working tree differs from it. */
  private static String commit(Path root) throws IOException, InterruptedException {
    Process git =
        new ProcessBuilder("git", "describe", "--always", "--exclude=*", "--dirty=+")
            .directory(root.toFile())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    String commit = new String(git.getInputStream().readAllBytes(), UTF_8).strip();
    return git.waitFor() == 0 ? commit : "unknown";
  }

  private static String machine() throws IOException {
    return Runtime.getRuntime().availableProcessors() + " × " + model();
  }

  private static String model() throws IOException {
    if (Files.isReadable(CPU_INFO)) {
      try (Stream<String> lines = Files.lines(CPU_INFO)) {
        return lines
            .filter(line -> line.startsWith("model name"))
            .map(line -> line.substring(line.indexOf(':') + 1).strip())
            .findFirst()
            .orElse(System.getProperty("os.arch"));
      }
    }
    return System.getProperty("os.arch");
  }
}
