package dev.tranche.simulate;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
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

  private static List<String> sources(String module) throws IOException {
    try (Stream<Path> files = Files.walk(ROOT.resolve(module))) {
      return files.map(Path::toString).filter(file -> file.contains("/src/test/java/")).toList();
    }
  }

  @TestFactory
  Stream<DynamicTest> patches_applyAndCompile() throws Exception {
    String table = Files.readString(ROOT.resolve("RELIABILITY.md"));
    return Mutants.names(ROOT).stream()
        .map(
            name ->
                DynamicTest.dynamicTest(
                    name,
                    () -> {
                      Path classes =
                          Mutants.compile(ROOT, name, Files.createDirectory(work.resolve(name)));
                      assertThat(classes).isNotEmptyDirectory();
                      assertThat(table).contains("`" + name + "`");
                      for (Mutants.ProductTest test : Mutants.test(ROOT, name).stream().toList()) {
                        assertThat(sources(test.module()))
                            .as("the test %s", test.name())
                            .anyMatch(file -> file.endsWith(test.name() + ".java"));
                      }
                    }));
  }
}
