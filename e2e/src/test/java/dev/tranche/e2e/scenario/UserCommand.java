package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Artifacts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** How a command that a user ran on a cluster has ended. */
record UserCommand(int status, String out, String errors) {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /** The program of {@code kubectl tranche}, to be called by {@code sh}. */
  static final String PLUGIN = ROOT.resolve("deploy/kubectl/kubectl-tranche").toString();

  /** The program {@code kubectl}. */
  static String kubectl() {
    return Artifacts.of(ROOT).tool("kubectl").toString();
  }

  /**
   * Runs a command that takes an option {@code --kubeconfig}, with kubectl on its path.
   *
   * @param folder where its output is kept
   */
  static UserCommand run(Path folder, Path kubeconfig, List<String> words) {
    var command = new ArrayList<>(words);
    command.add("--kubeconfig=" + kubeconfig);
    var builder =
        new ProcessBuilder(command)
            .redirectOutput(folder.resolve("out").toFile())
            .redirectError(folder.resolve("errors").toFile());
    Path tools = Path.of(kubectl()).resolveSibling("");
    builder.environment().put("PATH", tools + ":" + System.getenv("PATH"));
    try {
      Process process = builder.start();
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
      return new UserCommand(
          process.exitValue(),
          Files.readString(folder.resolve("out")),
          Files.readString(folder.resolve("errors")));
    } catch (IOException | InterruptedException failed) {
      throw new AssertionError(failed);
    }
  }
}
