package dev.tranche.e2e.release;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The comparison of SCOPE.md claims nothing without a proof or a source. */
class ComparisonTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Pattern TEST = Pattern.compile("`(\\w+(?:E2E|Test|IT))`");
  private static final Pattern LINK = Pattern.compile("\\]\\(([^)#]+)(?:#[^)]*)?\\)");
  private static final Pattern HEADING = Pattern.compile("\\]\\(([^):]+#[^)]+)\\)");
  private static final Pattern SOURCE = Pattern.compile("\\[(\\d+)]");

  private static String page() throws IOException {
    return Files.readString(ROOT.resolve("SCOPE.md"));
  }

  private static List<String> rows(String from, String to) throws IOException {
    String page = page();
    return page.substring(page.indexOf(from), page.indexOf(to))
        .lines()
        .filter(line -> line.startsWith("| ") && !line.startsWith("| |"))
        .toList();
  }

  @Test
  void tests_andPages_thatItNames_exist() throws IOException {
    var classes = new TreeSet<String>();
    try (Stream<Path> files = Files.walk(ROOT.resolve("e2e/src/test/java"))) {
      files.forEach(file -> classes.add(file.getFileName().toString().replace(".java", "")));
    }
    assertThat(matches(TEST, page())).hasSizeGreaterThan(8).allMatch(classes::contains);
    assertThat(matches(LINK, page()))
        .filteredOn(link -> !link.startsWith("https://"))
        .hasSizeGreaterThan(5)
        .allMatch(link -> Files.exists(ROOT.resolve(link)));
    assertThat(matches(HEADING, page())).hasSizeGreaterThan(3).allSatisfy(this::hasHeading);
  }

  /** Ours by a test or a page; each of the others by a source. */
  @Test
  void comparison_hasSources() throws IOException {
    String page = page();
    List<String> sources =
        page.substring(page.indexOf("### Sources"))
            .lines()
            .filter(line -> line.matches("\\d+\\. .*"))
            .toList();
    assertThat(sources).allMatch(line -> line.contains("](https://"));
    List<String> rows = rows("## Beside others", "### Sources");
    assertThat(rows).hasSizeGreaterThan(10);
    var cited = new TreeSet<Integer>();
    for (String row : rows) {
      matches(SOURCE, row).forEach(number -> cited.add(Integer.valueOf(number)));
      String ours = row.split("\\|")[2];
      if (ours.contains("yes")) {
        assertThat(ours).as(row).containsPattern("`\\w+E2E`|\\]\\(");
      }
      for (String cell : List.of(row.split("\\|")).subList(3, 7)) {
        assertThat(cell.strip()).as(row).matches("–|.*(\\[\\d+]|\\]\\(https://.*\\)).*");
      }
    }
    assertThat(cited).hasSize(sources.size()).allMatch(number -> number <= sources.size());
  }

  /** A heading's anchor is its words in lower case, joined by hyphens. */
  private void hasHeading(String link) {
    String[] parts = link.split("#", 2);
    List<String> anchors;
    try (Stream<String> lines = Files.lines(ROOT.resolve(parts[0]))) {
      anchors =
          lines
              .filter(line -> line.startsWith("#"))
              .map(line -> line.replaceFirst("#+ ", "").toLowerCase(Locale.ROOT))
              .map(line -> line.replaceAll("[^\\p{L}\\d _-]", "").replace(' ', '-'))
              .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    assertThat(anchors).as(parts[0]).contains(parts[1]);
  }

  private static List<String> matches(Pattern pattern, String text) {
    return pattern
        .matcher(text)
        .results()
        .map(MatchResult::group)
        .map(found -> first(pattern, found))
        .toList();
  }

  private static String first(Pattern pattern, String found) {
    var matcher = pattern.matcher(found);
    return matcher.find() ? matcher.group(1) : "";
  }
}
