package dev.tranche.e2e.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What {@code ./demo} says before and while it works. No cluster is started. */
class DemoIT {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  @TempDir Path folder;

  private Shell.Result bash(String script) throws IOException {
    return Shell.run(
        ROOT,
        ". .build/prepare.sh; . .build/progress.sh; set -euo pipefail; progress_begin %s; %s"
            .formatted(log(), script));
  }

  private Path log() {
    return folder.resolve("a/demo.log");
  }

  @Test
  void stepsAreShown_andAllElseIsInTheLog() throws IOException {
    Shell.Result done =
        bash(
            """
            step one; echo out; echo err >&2
            bash -c 'echo "[  7 s] of a program" >>"$TRANCHE_STEPS"'
            progress_end; echo result\
            """);
    assertThat(done.orFail()).matches("\\[ +\\d+ s] one\n\\[ +7 s] of a program\nresult\n");
    assertThat(log()).hasContent("out\nerr");
  }

  /** Whoever keeps what ./demo says in a file reads all of it, in its order. */
  @Test
  void stepsInAFile_areBeforeTheResult() throws IOException {
    Path shown = folder.resolve("shown");
    String script = "echo before; progress_begin %s; step one; step two; progress_end; echo result";
    Shell.run(
            ROOT,
            ". .build/prepare.sh; . .build/progress.sh; { %s; } >%s 2>&1"
                .formatted(script.formatted(log()), shown))
        .orFail();
    assertThat(shown).content().matches("before\n\\[ +\\d+ s] one\n\\[ +\\d+ s] two\nresult\n");
  }

  /** A program that opens /dev/stderr empties the file that it is. */
  @Test
  void stepsOfOtherCommands_areAddedToTheirLog() throws IOException {
    Path errors = folder.resolve("errors");
    Shell.run(
            ROOT,
            "{ . .build/prepare.sh; echo before >&2; step one; step two; } 2>%s".formatted(errors))
        .orFail();
    assertThat(Files.readAllLines(errors)).hasSize(3).startsWith("before");
  }

  @Test
  void failure_showsTheEndOfTheLog_andItsPath() throws IOException {
    Shell.Result failed = bash("step one; seq 100; ls /nowhere-at-all; step two");
    assertThat(failed.status()).isEqualTo(2);
    assertThat(failed.output())
        .contains("one\n", "error: it ended with status 2", "  100\n", "nowhere-at-all")
        .endsWith("The whole log: " + log() + "\n")
        .doesNotContain("  50\n", "two");
  }

  @Test
  void demoOfAnotherFolder_isNotRemovedUnasked() throws IOException {
    stub(
        "docker",
        """
        case $1 in
          ps) echo 1234 ;;
          inspect) echo /other/folder/target/demo/node-t4/driver ;;
          *) echo "$@" >>%s; exit 1 ;;
        esac
        """
            .formatted(folder.resolve("calls")));
    Shell.Result refused = Shell.run(ROOT, "PATH=%s:$PATH ./demo".formatted(folder));
    assertThat(refused.status()).isEqualTo(1);
    assertThat(refused.output().lines()).hasSize(1);
    assertThat(refused.output()).contains("/other/folder; ./demo --replace removes it");
    assertThat(folder.resolve("calls")).doesNotExist();
  }

  /** A program that the script finds before the machine's own. */
  private void stub(String name, String script) throws IOException {
    Path stub = folder.resolve(name);
    Files.writeString(stub, "#!/bin/sh\n" + script);
    assertThat(stub.toFile().setExecutable(true)).isTrue();
  }

  /** Where the client is installed and no engine runs, the engine is started later. */
  @Test
  void dockerWithoutAnEngine_meansThatNoDemoRuns() throws IOException {
    stub("docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1\n");
    Shell.Result failed =
        Shell.run(
            ROOT,
            "JAVA_HOME=%s DOCKER_HOST=unix://%s PATH=%s:$PATH ./demo"
                .formatted(System.getProperty("java.home"), folder.resolve("none"), folder));
    assertThat(failed.status()).isEqualTo(1);
    assertThat(failed.output())
        .contains("preparing what the demo needs\n", "no Docker engine answers at DOCKER_HOST=");
  }

  /** It would hold the terminal, the steps and the locks of whoever started it. */
  @Test
  void engineThatTheScriptStarts_inheritsNoFilesOfIts() throws IOException {
    Path open = folder.resolve("open");
    Path answers = folder.resolve("answers");
    stub("id", "echo 0\n");
    // The pid file of the machine's own engine stays.
    stub("rm", "");
    stub("docker", "test -e %s\n".formatted(answers));
    stub(
        "dockerd",
        """
        for fd in 3 4 5 6 7 8 9; do
          [ ! -e /proc/$$/fd/$fd ] || echo $fd
        done >%s
        : >%s
        """
            .formatted(open, answers));
    bash("""
    unset DOCKER_HOST
    export PATH=%1$s:$PATH TRANCHE_CACHE=%1$s/cache
    exec 8>%1$s/lock
    .build/docker.sh
    PATH=${PATH#*:}
    progress_end\
    """
            .formatted(folder))
        .orFail();
    assertThat(open).isEmptyFile();
  }
}
