package dev.tranche.e2e.kubectl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The workflows of CI are correct, and run only what this repository or a digest pins. */
class WorkflowsIT {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Pattern PINNED = Pattern.compile("uses: [\\w./-]+@[0-9a-f]{40} # v[0-9.]+");

  private static List<String> lines() throws IOException {
    try (Stream<Path> files = Files.list(ROOT.resolve(".github/workflows"))) {
      List<Path> workflows = files.toList();
      assertThat(workflows).isNotEmpty();
      return workflows.stream().flatMap(WorkflowsIT::lines).toList();
    }
  }

  private static Stream<String> lines(Path file) {
    try {
      return Files.readAllLines(file).stream().map(String::strip);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void workflows_satisfyActionlint() throws IOException {
    Shell.run(
            ROOT,
            "l=$(.build/tool.sh actionlint) && s=$(.build/tool.sh shellcheck) && \"$l\" -shellcheck"
                + " \"$s\"")
        .orFail();
  }

  @Test
  void actions_arePinnedByDigest() throws IOException {
    assertThat(lines().stream().map(line -> line.replaceFirst("^- ", "")))
        .filteredOn(line -> line.startsWith("uses:"))
        .isNotEmpty()
        .allMatch(line -> PINNED.matcher(line).matches());
  }

  /** What a step does can be run here as well. */
  @Test
  void steps_runScriptsOfTheRepository() throws IOException {
    assertThat(lines().stream().map(line -> line.replaceFirst("^- ", "")))
        .filteredOn(line -> line.startsWith("run:"))
        .isNotEmpty()
        .allSatisfy(
            line ->
                assertThat(ROOT.resolve(line.replaceFirst("^run: (sudo )?", "").split(" ", 2)[0]))
                    .isExecutable());
  }

  /** A pull request brings code that nobody has read yet. */
  @Test
  void pullRequests_getNoCredentials() throws IOException {
    try (Stream<Path> files = Files.list(ROOT.resolve(".github/workflows"))) {
      for (Path file : files.toList()) {
        String workflow = Files.readString(file);
        assertThat(workflow).as(file.toString()).doesNotContain("pull_request_target");
        if (workflow.contains("pull_request")) {
          assertThat(workflow)
              .as(file.toString())
              .contains("permissions:\n  contents: read\n")
              .doesNotContain(": write", "secrets.", "github.token");
        }
      }
    }
  }
}
