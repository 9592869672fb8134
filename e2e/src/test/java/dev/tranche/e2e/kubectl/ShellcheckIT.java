package dev.tranche.e2e.kubectl;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** shellcheck has nothing to say of any shell script of the repository. */
class ShellcheckIT {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Set<String> NOT_OURS = Set.of(".git", "target", "node_modules");
  private static final Pattern SCRIPT =
      Pattern.compile("#!.*\\b(ba|da)?sh\\b.*|# shellcheck shell=.*");
  private static final int FIRST_LINE_BYTES = 80;

  private static List<Path> scripts() throws IOException {
    try (Stream<Path> files = Files.walk(ROOT)) {
      return files
          .filter(file -> !Files.isSymbolicLink(file) && Files.isRegularFile(file))
          .filter(file -> parts(file).noneMatch(NOT_OURS::contains))
          .filter(ShellcheckIT::isScript)
          .toList();
    }
  }

  private static Stream<String> parts(Path file) {
    return Stream.of(ROOT.relativize(file).toString().split("/"));
  }

  private static boolean isScript(Path file) {
    try (var in = Files.newInputStream(file)) {
      String start = new String(in.readNBytes(FIRST_LINE_BYTES), UTF_8);
      return SCRIPT.matcher(start.lines().findFirst().orElse("")).matches();
    } catch (IOException e) {
      return false;
    }
  }

  @Test
  void scripts_areClean() throws IOException {
    List<Path> scripts = scripts();
    assertThat(scripts)
        .hasSizeGreaterThan(40)
        .contains(ROOT.resolve("check"), ROOT.resolve("deploy/kubectl/kubectl-tranche"));
    var command =
        new ArrayList<>(
            List.of("bash", "-c", "s=$(.build/tool.sh shellcheck) && \"$s\" -x \"$@\"", "-"));
    scripts.forEach(script -> command.add(ROOT.relativize(script).toString()));
    Shell.run(new ProcessBuilder(command).directory(ROOT.toFile()).redirectErrorStream(true))
        .orFail();
  }
}
