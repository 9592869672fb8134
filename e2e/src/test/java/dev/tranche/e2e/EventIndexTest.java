package dev.tranche.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** What a part writes or answers stands on its page, with the cure. */
class EventIndexTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /** Their words are reasons. */
  private static final List<String> REASONS =
      List.of(
          "extender/core/src/main/java/dev/tranche/extender/explain/WaitReason.java",
          "extender/src/main/java/dev/tranche/extender/controller/PodMistake.java",
          "node-plugin/src/main/java/dev/tranche/nodeplugin/gpu/NodeProblem.java",
          "node-plugin/src/main/java/dev/tranche/nodeplugin/gpu/HealthChange.java");

  private static final Pattern WORD = Pattern.compile("\"([A-Z][a-z]+[A-Z]\\w+)\"");

  /** Elsewhere the first literal of what writes an event, or a constant. */
  private static final Pattern WRITTEN =
      Pattern.compile("(?:withReason|events\\.node|events\\.pod|REASON = )[^;\"]*" + WORD);

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
    Set<String> written = found(WRITTEN, "webhook", "extender", "node-plugin");
    for (String file : REASONS) {
      WORD.matcher(text(ROOT.resolve(file))).results().forEach(word -> written.add(word.group(1)));
    }
    return written;
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
