package dev.tranche.nodeplugin.mps;

import dev.tranche.nodeplugin.file.FileAccess;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The driver's {@code nvidia-cuda-mps-control}. With {@code -d} it becomes the daemon; otherwise it
 * passes its standard input to a daemon. Every call has a time limit. Blocks.
 *
 * @param program a path, or a name to look up in PATH
 * @param output a file for the output of a call; a daemon keeps its first output open, so a pipe
 *     would never end
 */
record ControlProgram(String program, Map<String, String> environment, Path output) {
  private static final int CALL_LIMIT_MS = 10_000;

  void daemon() throws MpsException, InterruptedException {
    call("", "-d");
  }

  /** The answer to a command, stripped. */
  String command(String command) throws MpsException, InterruptedException {
    return call(command + "\n");
  }

  private String call(String input, String... args) throws MpsException, InterruptedException {
    ProcessBuilder builder =
        new ProcessBuilder(program).redirectErrorStream(true).redirectOutput(output.toFile());
    builder.command().addAll(List.of(args));
    builder.environment().putAll(environment);
    String request = program + " (" + input.strip() + String.join(" ", args) + ")";
    try {
      Process process = builder.start();
      try (var stdin = process.outputWriter()) {
        stdin.write(input);
      } catch (IOException alreadyEnded) {
        // Its exit status says more.
      }
      if (!process.waitFor(CALL_LIMIT_MS, TimeUnit.MILLISECONDS)) {
        process.destroyForcibly();
        throw new MpsException("%s did not end within %d ms".formatted(request, CALL_LIMIT_MS));
      }
      String answer = FileAccess.text(output);
      if (process.exitValue() != 0) {
        throw new MpsException(
            "%s ended with status %d: %s".formatted(request, process.exitValue(), answer));
      }
      return answer;
    } catch (IOException e) {
      throw new MpsException(
          program
              + " cannot be run ("
              + e.getMessage()
              + "); it comes with the driver: the container needs the nvidia runtime and"
              + " NVIDIA_DRIVER_CAPABILITIES=compute,utility");
    }
  }
}
