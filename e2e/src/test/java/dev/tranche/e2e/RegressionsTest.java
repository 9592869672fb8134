package dev.tranche.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Each line of regressions.txt names tests that exist. */
class RegressionsTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Pattern LINE =
      Pattern.compile(
          "(?<module>[a-z0-9-]+) (?<test>\\w+)(#(?<method>[\\w*]+))? [a-z-]+ [0-9a-f]+");

  @TestFactory
  Stream<DynamicTest> everyLine_namesATest() throws IOException {
    List<String> lines =
        Files.readAllLines(ROOT.resolve("e2e/src/test/resources/regressions.txt")).stream()
            .filter(line -> !line.startsWith("#"))
            .toList();
    Map<String, Map<String, Path>> tests =
        lines.stream()
            .map(line -> line.substring(0, line.indexOf(' ')))
            .distinct()
            .collect(Collectors.toMap(Function.identity(), RegressionsTest::tests));
    return lines.stream()
        .map(line -> DynamicTest.dynamicTest(line, () -> assertThat(names(line, tests)).isTrue()));
  }

  private static boolean names(String line, Map<String, Map<String, Path>> tests)
      throws IOException {
    var parts = LINE.matcher(line);
    assertThat(parts.matches()).isTrue();
    Path file = tests.get(parts.group("module")).get(parts.group("test") + ".java");
    if (file == null || parts.group("method") == null) {
      return file != null;
    }
    String method = " " + parts.group("method").replace("*", "\\w*") + "\\(";
    return Pattern.compile(method).matcher(Files.readString(file)).find();
  }

  private static Map<String, Path> tests(String module) {
    try (Stream<Path> files = Files.walk(ROOT.resolve(module))) {
      return files
          .filter(file -> file.toString().contains("/src/test/java/"))
          .filter(file -> file.toString().endsWith(".java"))
          .collect(
              Collectors.toMap(file -> file.getFileName().toString(), file -> file, (a, b) -> a));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
