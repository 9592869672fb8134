package dev.tranche.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.Bounds.Bound;
import dev.tranche.e2e.WrittenBounds.Written;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Each figure in the table of bounds of docs/bounds.md is that of the code. */
class BoundsPageTest {
  private static final Pattern FIGURE =
      Pattern.compile("(?<![\\w`.=-])[0-9](?:[0-9,]*[0-9])?(?: (?:MiB|KiB|s|min|ms|h)\\b)?");

  @Test
  void figures_areThoseOfTheCode() throws IOException {
    List<String> rows = rows();
    for (Bound bound : Bounds.CONSTANTS) {
      assertThat(figures(rowOf(bound.row(), rows)))
          .as("%s", bound)
          .containsAnyElementsOf(shown(bound));
    }
    for (Written written : WrittenBounds.WRITTEN) {
      assertThat(text(written)).contains(written.text());
      assertThat(figures(rowOf(written.row(), rows))).containsAll(written.figures());
    }
  }

  @Test
  void everyFigure_isHeldAgainstTheCode_orSaidToBeMeasured() throws IOException {
    List<String> rows = rows();
    assertThat(rows).hasSizeGreaterThan(100);
    Map<String, Set<String>> known = new HashMap<>();
    for (Bound bound : Bounds.CONSTANTS) {
      known.computeIfAbsent(rowOf(bound.row(), rows), row -> new HashSet<>()).addAll(shown(bound));
    }
    for (Written written : WrittenBounds.WRITTEN) {
      known
          .computeIfAbsent(rowOf(written.row(), rows), row -> new HashSet<>())
          .addAll(written.figures());
    }
    WrittenBounds.MEASURED.forEach(
        (row, figures) ->
            known.computeIfAbsent(rowOf(row, rows), same -> new HashSet<>()).addAll(figures));
    var unknown = new ArrayList<String>();
    for (String row : rows) {
      figures(row).stream()
          .filter(figure -> !known.getOrDefault(row, Set.of()).contains(figure))
          .forEach(figure -> unknown.add(figure + " in: " + row));
    }
    assertThat(unknown).isEmpty();
  }

  private static String rowOf(String start, List<String> rows) {
    List<String> found = rows.stream().filter(row -> row.startsWith(start)).toList();
    assertThat(found).as("rows that begin with \"%s\"", start).hasSize(1);
    return found.getFirst();
  }

  /** The figures in the second column, each with its unit. */
  private static List<String> figures(String row) {
    String bound = row.split(" \\| ", 3)[1].replaceAll("`[^`]*`", "");
    return FIGURE.matcher(bound).results().map(MatchResult::group).toList();
  }

  private static String text(Written written) throws IOException {
    Path file =
        written.file().endsWith(".yaml")
            ? Path.of("..").resolve(written.file())
            : file(written.file());
    return Files.readString(file).replaceAll("\\s+", " ").replace("( \"", "( \"");
  }

  /** Connections times what each takes, and the bodies of a port; rounded up. */
  @Test
  void whatStrangersCanTake_addsUp_toHalfOfEachHeapAtMost() throws IOException {
    String page = Files.readString(Path.of("../docs/bounds.md"));
    int start = page.indexOf("## What strangers can take");
    String section = page.substring(start, page.indexOf("\n## ", start));
    Map<String, Long> mibByPart = new HashMap<>();
    section
        .lines()
        .filter(line -> line.matches("\\| (webhook|extender|node plugin), .*"))
        .map(line -> line.split(" *\\| *"))
        .forEach(
            row -> {
              long connections = numbers(row[2]).sum();
              long kib = connections * numbers(row[3]).findFirst().orElseThrow();
              long mib = (kib + 1_023) / 1_024 + numbers(row[4]).sum();
              assertThat(row[5]).as(row[1]).isEqualTo(mib + " MiB");
              mibByPart.merge(row[1].substring(0, row[1].indexOf(',')), mib, Long::sum);
            });
    assertThat(mibByPart).containsOnlyKeys("webhook", "extender", "node plugin");
    mibByPart.forEach(
        (part, mib) -> {
          Matcher half = Pattern.compile("([0-9]+) MiB in the " + part).matcher(section);
          assertThat(half.find()).as(part).isTrue();
          assertThat(mib).as(part).isLessThanOrEqualTo(Long.parseLong(half.group(1)));
        });
  }

  private static LongStream numbers(String cell) {
    return Pattern.compile("[0-9]+(,[0-9]{3})*")
        .matcher(cell)
        .results()
        .mapToLong(number -> Long.parseLong(number.group().replace(",", "")));
  }

  /** In the units that the page may have chosen. */
  private static List<String> shown(Bound bound) throws IOException {
    long value = value(bound);
    if (bound.constant().contains("BYTES")) {
      return List.of(
          (value >> 20) + " MiB",
          (value >> 10) + " KiB",
          grouped(value),
          grouped(value) + " bytes");
    }
    if (bound.constant().matches("(.*_)?MS(_.*)?")) {
      return List.of(
          grouped(value) + " ms",
          value / 1_000 + " s",
          value / 60_000 + " min",
          value / 3_600_000 + " h");
    }
    return List.of(grouped(value));
  }

  private static String grouped(long value) {
    return String.format(Locale.ROOT, "%,d", value);
  }

  private static long value(Bound bound) throws IOException {
    String code = Files.readString(file(bound.file()));
    Matcher constant =
        Pattern.compile("\\b" + bound.constant() + " =\\s*([0-9_]+)L?(?: << ([0-9]+))?;")
            .matcher(code);
    assertThat(constant.find()).as("%s", bound).isTrue();
    long number = Long.parseLong(constant.group(1).replace("_", ""));
    return constant.group(2) == null ? number : number << Integer.parseInt(constant.group(2));
  }

  private static Path file(String moduleAndClass) throws IOException {
    int slash = moduleAndClass.indexOf('/');
    Path name = Path.of(moduleAndClass.substring(slash + 1) + ".java");
    return Sources.of(moduleAndClass.substring(0, slash), "main").stream()
        .filter(file -> file.endsWith(name))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no file " + moduleAndClass));
  }

  private static List<String> rows() throws IOException {
    String page = Files.readString(Path.of("../docs/bounds.md"));
    return page.substring(page.indexOf("\n## All bounds"))
        .lines()
        .filter(line -> line.startsWith("| ") && !line.startsWith("| what |"))
        .map(line -> line.substring(2))
        .toList();
  }
}
