package dev.tranche.e2e.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The repository's shell scripts, which build what a cluster is made of. */
final class Scripts {
  private static final Path ROOT = findRoot();

  private Scripts() {}

  static Path root() {
    return ROOT;
  }

  /**
   * Runs a script that prints lines {@code name=value}; its progress goes to our standard error.
   * One at a time: what it builds is built once.
   */
  static synchronized Map<String, String> values(
      Map<String, String> environment, String script, String... arguments) {
    var command = command(script, arguments);
    try {
      var builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
      builder.environment().putAll(environment);
      var process = builder.start();
      var out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (process.waitFor() != 0) {
        throw new ClusterException("%s failed; see its messages above".formatted(command));
      }
      return parse(out);
    } catch (IOException e) {
      throw new ClusterException("cannot run " + command, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException("interrupted in " + command, e);
    }
  }

  /** Whether a script that answers by its exit status succeeds. */
  static boolean succeeds(String script, String... arguments) {
    try {
      return new ProcessBuilder(command(script, arguments)).inheritIO().start().waitFor() == 0;
    } catch (IOException e) {
      throw new ClusterException("cannot run " + script, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException("interrupted in " + script, e);
    }
  }

  private static List<String> command(String script, String... arguments) {
    var command = new ArrayList<String>();
    command.add(ROOT.resolve(script).toString());
    command.addAll(List.of(arguments));
    return command;
  }

  private static Map<String, String> parse(String lines) {
    return lines
        .lines()
        .map(line -> line.split("=", 2))
        .filter(pair -> pair.length == 2)
        .collect(Collectors.toMap(pair -> pair[0], pair -> pair[1]));
  }

  /** Tests run in a module's folder, the demo in the repository's. */
  private static Path findRoot() {
    var here = Path.of("").toAbsolutePath();
    return Stream.<Path>iterate(here, folder -> folder != null, Path::getParent)
        .filter(folder -> Files.isExecutable(folder.resolve("e2e/stand-in/build.sh")))
        .findFirst()
        .orElseThrow(
            () -> new IllegalStateException(here + " is not inside the Tranche repository"));
  }
}
