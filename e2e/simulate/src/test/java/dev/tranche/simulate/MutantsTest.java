package dev.tranche.simulate;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * Finding the bugs is {@code ./bench simulate --mutants}; here, each patch applies and compiles.
 */
class MutantsTest {
  private static final Path ROOT = Path.of("../..").toAbsolutePath().normalize();

  /** The processors that run the tests order these reads and writes by themselves. */
  private static final Set<String> NOT_PUT_BACK =
      Set.of("The number of verbs in flight was read across threads without a barrier.");

  @TempDir Path work;

  /** The files of a module's tests; the modules have thousands of other files. */
  private final Map<String, List<String>> testsByModule = new HashMap<>();

  private List<String> tests(String module) throws IOException {
    List<String> known = testsByModule.get(module);
    if (known == null) {
      try (Stream<Path> files = Files.walk(ROOT.resolve(module))) {
        known = files.map(Path::toString).filter(file -> file.contains("/src/test/java/")).toList();
      }
      testsByModule.put(module, known);
    }
    return known;
  }

  private static String section(String title) throws IOException {
    String page = Files.readString(ROOT.resolve("RELIABILITY.md"));
    String after = page.substring(page.indexOf("\n## " + title + "\n") + 4);
    int end = after.indexOf("\n## ");
    return end < 0 ? after : after.substring(0, end);
  }

  @TestFactory
  Stream<DynamicTest> patches_applyAndCompile() throws Exception {
    String table = section("Known bugs, put back");
    return Mutant.names(ROOT).stream()
        .map(
            name ->
                DynamicTest.dynamicTest(
                    name,
                    () -> {
                      Mutant mutant = Mutant.of(ROOT, name);
                      mutant.compile(ROOT, Files.createDirectory(work.resolve(name)));
                      Mutant.ProductTest test = mutant.test();
                      assertThat(table)
                          .contains(
                              "| %s | `%s` | `%s %s` |"
                                  .formatted(mutant.bug(), name, test.module(), test.name()));
                      assertThat(tests(test.module()))
                          .as("the test %s", test.name())
                          .anyMatch(file -> file.endsWith("/" + test.name() + ".java"));
                    }));
  }

  @Test
  void everyBugOfPlacing_isPutBack() throws Exception {
    var bugs = new ArrayList<String>();
    for (String name : Mutant.names(ROOT)) {
      bugs.add(Mutant.of(ROOT, name).bug());
    }
    List<String> rows =
        section("Placing")
            .lines()
            .filter(line -> line.startsWith("| ") && !line.startsWith("| bug "))
            .map(line -> line.substring(2, line.indexOf(" | ", 2)))
            .toList();
    assertThat(rows).hasSizeGreaterThan(50).containsAll(NOT_PUT_BACK);
    assertThat(rows).filteredOn(row -> !NOT_PUT_BACK.contains(row)).allMatch(bugs::contains);
  }
}
