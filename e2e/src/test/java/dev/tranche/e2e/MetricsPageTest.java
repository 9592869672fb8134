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
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** docs/monitoring.md has what the parts register, no more and no less. */
class MetricsPageTest {
  private static final Path ROOT = Path.of("..");

  /** Annotations have a slash. */
  private static final Pattern REGISTERED = Pattern.compile("\"(tranche[._](?!dev\\b)[a-z._]+)\"");

  /** The first part of the names of the meters that every process has. */
  private static final Pattern PREFIX = Pattern.compile("super\\([a-z]+, \"(tranche[.][a-z]+)\"");

  /** What follows it, in the classes of its package. */
  private static final Pattern SUFFIX = Pattern.compile("\\bname\\(\"([a-z.]+)\"\\)");

  private static final Pattern ROW = Pattern.compile("(?m)^\\| `(tranche_[a-z_]+)` \\|");
  private static final Pattern NAMED = Pattern.compile("`(tranche_[a-z_]+)[`{]");

  @Test
  void everyMetricThatAPartRegisters_hasARow() throws IOException {
    Set<String> rows = rows();
    assertThat(registered())
        .hasSizeGreaterThan(80)
        .allSatisfy(metric -> assertThat(rows).as(metric).containsAnyElementsOf(exported(metric)));
  }

  @Test
  void everyRow_isOfAMetricThatAPartRegisters() throws IOException {
    Set<String> exported =
        registered().stream().flatMap(m -> exported(m).stream()).collect(Collectors.toSet());
    assertThat(exported).containsAll(rows());
  }

  @Test
  void otherPages_nameMetricsThatThereAre() throws IOException {
    Set<String> rows = rows();
    try (Stream<Path> pages = Files.list(ROOT.resolve("docs"))) {
      assertThat(
              pages
                  .filter(page -> page.toString().endsWith(".md"))
                  .flatMap(page -> NAMED.matcher(read(page)).results())
                  .map(match -> match.group(1))
                  .distinct())
          .hasSizeGreaterThan(80)
          .isSubsetOf(rows);
    }
  }

  /** As Prometheus may see it: counters and units have a suffix. */
  private static Set<String> exported(String metric) {
    return Set.of(metric, metric + "_total", metric + "_seconds", metric + "_bytes");
  }

  private static Set<String> rows() throws IOException {
    return ROW.matcher(Files.readString(ROOT.resolve("docs/monitoring.md")))
        .results()
        .map(row -> row.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static Set<String> registered() throws IOException {
    var names = new TreeSet<String>();
    var prefixes = new TreeSet<String>();
    var suffixes = new TreeSet<String>();
    for (String part : new String[] {"api", "process", "webhook", "extender", "node-plugin"}) {
      for (Path file : Sources.of(part, "main")) {
        String text = Files.readString(file);
        matches(REGISTERED, text).forEach(names::add);
        matches(PREFIX, text).forEach(prefixes::add);
        if (file.toString().contains("/process/meters/")) {
          matches(SUFFIX, text).forEach(suffixes::add);
        }
      }
    }
    assertThat(prefixes).containsOnly("tranche_extender", "tranche_node", "tranche_webhook");
    assertThat(suffixes).contains("connections");
    names.removeAll(prefixes);
    prefixes.forEach(prefix -> suffixes.forEach(suffix -> names.add(prefix + "_" + suffix)));
    return names;
  }

  private static Stream<String> matches(Pattern name, String text) {
    return name.matcher(text).results().map(match -> match.group(1).replace('.', '_'));
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
