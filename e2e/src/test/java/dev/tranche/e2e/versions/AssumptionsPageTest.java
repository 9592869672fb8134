package dev.tranche.e2e.versions;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The tests that docs/architecture/assumptions.md names exist, and have run on its versions. */
class AssumptionsPageTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /**
   * A line of a table.
   *
   * @param test a class and a method; otherwise it begins with "none"
   */
  private record Row(String assumption, String versions, String test) {
    boolean hasTest() {
      return !test.startsWith("none");
    }

    Selector selector() {
      return Selector.of(test.replace("`", ""));
    }
  }

  private static List<Row> rows() throws IOException {
    return Files.readAllLines(ROOT.resolve("docs/architecture/assumptions.md")).stream()
        .filter(line -> line.startsWith("| ") && !line.startsWith("| assumption"))
        .map(line -> line.substring(2, line.length() - 2).split(" \\| ", -1))
        .map(cells -> new Row(cells[0], cells[1], cells[2]))
        .toList();
  }

  @Test
  void everyTest_exists() throws IOException {
    assertThat(rows()).hasSizeGreaterThan(20);
    for (Row row : rows()) {
      if (row.hasTest()) {
        assertThat(row.selector().methods()).as(row.assumption()).hasSize(1);
        assertThat(source(row.selector().className()))
            .as(row.test())
            .contains("\n  void " + row.selector().methods().getFirst() + "(");
      } else {
        assertThat(row.test()).as(row.assumption()).matches("none( in CI)?: .+");
      }
    }
  }

  @Test
  void testsOfTheMatrix_haveRunOnTheVersionsOfTheirRows() throws IOException {
    for (Row row : rows()) {
      for (Scenario scenario : Scenario.ALL) {
        if (row.hasTest() && runs(scenario, row.selector())) {
          assertThat(row.versions()).as(row.assumption()).isEqualTo(passedOn(scenario));
        }
      }
    }
  }

  private static boolean runs(Scenario scenario, Selector test) {
    var found = new TestCase(test.className(), test.methods().getFirst(), TestCase.Outcome.PASSED);
    return scenario.selectors().stream().anyMatch(selector -> selector.selects(found));
  }

  /** Returns {@code 1.30 to 1.37}, or all versions one by one if one between them is missing. */
  private static String passedOn(Scenario scenario) throws IOException {
    List<Integer> minors =
        VersionResult.readAll(ROOT).stream()
            // An early version, such as v1.38.0-alpha.0, may break until its release.
            .filter(run -> !run.version().contains("-"))
            .filter(run -> run.scenarios().stream().anyMatch(it -> hasPassed(it, scenario)))
            .map(VersionResult::minor)
            .toList();
    return minors.size() > 1 && minors.getLast() - minors.getFirst() == minors.size() - 1
        ? "1.%d to 1.%d".formatted(minors.getFirst(), minors.getLast())
        : minors.stream().map(minor -> "1." + minor).collect(joining(", "));
  }

  private static boolean hasPassed(ScenarioResult result, Scenario scenario) {
    return result.name().equals(scenario.name()) && result.hasPassed();
  }

  private static String source(String className) throws IOException {
    for (String module :
        List.of("api", "process", "webhook", "extender", "node-plugin", "e2e", "e2e/simulate")) {
      try (Stream<Path> files = Files.walk(ROOT.resolve(module).resolve("src/test/java"))) {
        var file = files.filter(it -> it.endsWith(className + ".java")).findFirst();
        if (file.isPresent()) {
          return Files.readString(file.get());
        }
      }
    }
    throw new AssertionError("no test class " + className);
  }
}
