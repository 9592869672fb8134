package dev.tranche.e2e.bench;

import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** Which code measured, when, and on what kind of machine. Not on which one. */
final class Provenance {
  /** Beyond it the figures may be those of other code; BENCHMARKS.md says so. */
  private static final int COMMITS_MAX = 500;

  private static final Path CPU_INFO = Path.of("/proc/cpuinfo");

  private Provenance() {}

  static Results.Run of(Path root, List<Figure> figures) throws IOException {
    return new Results.Run(
        commit(root), LocalDate.now(ZoneOffset.UTC).toString(), machine(), figures);
  }

  /**
   * How many commits ago that commit was, such as {@code , 12 commits ago}; empty if git does not
   * know it.
   */
  static String age(Path root, String commit) throws IOException {
    var git = Shell.run(root, "git rev-list --count %s..HEAD".formatted(commit.replace("+", "")));
    if (git.status() != 0) {
      return "";
    }
    int commits = Integer.parseInt(git.output().strip());
    String old = commits > COMMITS_MAX ? " (old)" : "";
    return String.format(Locale.ROOT, ", %,d commits ago%s", commits, old);
  }

  /** Returns the commit, with a {@code +} if the working tree differs from it. */
  private static String commit(Path root) throws IOException {
    var git = Shell.run(root, "git describe --always --exclude='*' --dirty=+ 2>/dev/null");
    return git.status() == 0 ? git.output().strip() : "unknown";
  }

  /** Counts all cores: a bench may have pinned this process to some of them. */
  private static String machine() throws IOException {
    String architecture = System.getProperty("os.arch").replace("amd64", "x86-64");
    return "%d cores (%s)".formatted(cores(), architecture);
  }

  private static long cores() throws IOException {
    if (!Files.isReadable(CPU_INFO)) {
      return Runtime.getRuntime().availableProcessors();
    }
    try (Stream<String> lines = Files.lines(CPU_INFO)) {
      return lines.filter(line -> line.startsWith("processor")).count();
    }
  }
}
