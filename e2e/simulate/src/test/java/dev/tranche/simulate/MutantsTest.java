package dev.tranche.simulate;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * Finding the bugs is {@code ./bench simulate --mutants}; here, each patch applies and compiles.
 */
class MutantsTest {
  private static final Path ROOT = Path.of("../..").toAbsolutePath().normalize();

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

  @TestFactory
  Stream<DynamicTest> patches_applyAndCompile() throws Exception {
    return Mutant.names(ROOT).stream()
        .map(
            name ->
                DynamicTest.dynamicTest(
                    name,
                    () -> {
                      Mutant mutant = Mutant.of(ROOT, name);
                      mutant.compile(ROOT, Files.createDirectory(work.resolve(name)));
                      Mutant.ProductTest test = mutant.test();
                      assertThat(tests(test.module()))
                          .as("the test %s", test.name())
                          .anyMatch(file -> file.endsWith("/" + test.name() + ".java"));
                    }));
  }
}
