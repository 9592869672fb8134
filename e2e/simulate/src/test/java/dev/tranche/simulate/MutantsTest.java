package dev.tranche.simulate;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
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
                    }));
  }
}
