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

/** What a part writes or answers stands on its page, with the cure. */
class EventIndexTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /**
   * The reason is the first literal of these calls that is one word of several capitals, or a
   * constant, also one of NodeProblem's or PodMistake's.
   */
  private static final Pattern WRITTEN =
      Pattern.compile(
          "(?:(?:withReason|events\\.node|events\\.pod)\\([^;\"]*|(?:->|[?:]) (?=\"Gpu)|String"
              + " (?:\\w+_)?REASON = |\n"
              + " {4}[A-Z]+_[A-Z_]+\\(|\n"
              + " {2}[A-Z_]+\\((?=\"\\w+\"\\)[,;]))\"([A-Z][a-z]+[A-Z]\\w+)\"");

  private static final Pattern UNREADY = Pattern.compile("missing\\.add\\(\"([^\":]+)");
  private static final Pattern REFUSAL = Pattern.compile("\\b(?:of|Problem)\\(\\s*([45]\\d\\d),");

  private static final Pattern ROW = Pattern.compile("^\\| (`.*?) \\|");
  private static final Pattern REASON = Pattern.compile("`(\\w+)`");

  @Test
  void events_writtenByAPart_standInTheIndexAndNoOthers() throws IOException {
    Set<String> written = written();

    assertThat(written).contains("NoGpuFits", "GpuLost", "GpuOveruseEnded");
    assertThat(indexed()).isEqualTo(written);
  }

  @Test
  void whatKeepsThePluginUnready_standsInTheTable() throws IOException {
    String page = text(ROOT.resolve("docs/errors.md"));
    assertThat(found(UNREADY, "node-plugin"))
        .contains("no extender is connected")
        .allMatch(page::contains);
  }

  @Test
  void refusalsOfTheReadApi_standInItsTable() throws IOException {
    String page = text(ROOT.resolve("docs/api.md"));
    assertThat(found(REFUSAL, "extender/readapi"))
        .contains("415")
        .allMatch(status -> page.contains("\n| " + status + " |"));
  }

  private static Set<String> written() throws IOException {
    return found(WRITTEN, "webhook", "extender", "node-plugin");
  }

  private static Set<String> found(Pattern pattern, String... modules) throws IOException {
    Set<String> found = new TreeSet<>();
    for (String module : modules) {
      Sources.of(module, "main").stream()
          .flatMap(file -> pattern.matcher(text(file)).results())
          .forEach(match -> found.add(match.group(1)));
    }
    return found;
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
