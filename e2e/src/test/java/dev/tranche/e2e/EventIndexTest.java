package dev.tranche.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Every event that a part writes stands in docs/errors.md with its cure, and no other does. */
class EventIndexTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /**
   * The reason is the first literal of these calls that is one word of several capitals, or a
   * constant, also one of NodeProblem's or PodMistake's.
   */
  private static final Pattern WRITTEN =
      Pattern.compile(
          "(?:(?:withReason|events\\.node|events\\.pod|new HealthChange)\\([^;\"]*|String (?:\\w+_)?REASON = |\n {4}[A-Z]+_[A-Z_]+\\(|\n {2}[A-Z_]+\\(\n {6})\"([A-Z][a-z]+[A-Z]\\w+)\"");

  private static final Pattern ROW = Pattern.compile("^\\| (`.*?) \\|");
  private static final Pattern REASON = Pattern.compile("`(\\w+)`");

  @Test
  void events_writtenByAPart_standInTheIndexAndNoOthers() throws IOException {
    Set<String> written = written();

    assertThat(written).contains("NoGpuFits", "GpuLost", "GpuOveruseEnded");
    assertThat(indexed()).isEqualTo(written);
  }

  private static Set<String> written() throws IOException {
    Set<String> reasons = new TreeSet<>();
    for (String module : Set.of("webhook", "extender", "node-plugin")) {
      Sources.of(module, "main").stream()
          .flatMap(file -> WRITTEN.matcher(text(file)).results())
          .forEach(found -> reasons.add(found.group(1)));
    }
    return reasons;
  }

  static Set<String> indexed() {
    String page = text(ROOT.resolve("docs/errors.md"));
    String events = page.substring(page.indexOf("\n## Events\n") + 4);
    return events
        .substring(0, events.indexOf("\n## "))
        .lines()
        .flatMap(line -> ROW.matcher(line).results())
        .flatMap(row -> REASON.matcher(row.group(1)).results())
        .map(found -> found.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
