package dev.tranche.nodeplugin.mps;

import dev.tranche.nodeplugin.file.FileAccess;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
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
    call(List.of("-d"), "");
  }

  /** The answer to a command, stripped. */
  String command(String command) throws MpsException, InterruptedException {
    return call(List.of(), command + "\n");
  }

  private String call(List<String> args, String input) throws MpsException, InterruptedException {
    List<String> line = new ArrayList<>(List.of(program));
    line.addAll(args);
    ProcessBuilder builder =
        new ProcessBuilder(line).redirectErrorStream(true).redirectOutput(output.toFile());
    builder.environment().putAll(environment);
    try {
      Process process = builder.start();
      try (var stdin = process.getOutputStream()) {
        stdin.write(input.getBytes(StandardCharsets.UTF_8));
      } catch (IOException alreadyEnded) {
        // Its exit status says more.
        return answer(process, args, input);
      }
      return answer(process, args, input);
    } catch (IOException e) {
      throw new MpsException(
          program
              + " cannot be run ("
              + e.getMessage()
              + "); it comes with the driver: the container needs the nvidia runtime and"
              + " NVIDIA_DRIVER_CAPABILITIES=compute,utility");
    }
  }

  private String answer(Process process, List<String> args, String input)
      throws MpsException, InterruptedException {
    String request = args.isEmpty() ? input.strip() : String.join(" ", args);
    if (!process.waitFor(CALL_LIMIT_MS, TimeUnit.MILLISECONDS)) {
      process.destroyForcibly();
      throw new MpsException(
          "%s (%s) did not end within %d ms".formatted(program, request, CALL_LIMIT_MS));
    }
    if (process.exitValue() != 0) {
      throw new MpsException(
          "%s (%s) ended with status %d: %s"
              .formatted(program, request, process.exitValue(), FileAccess.text(output)));
    }
    return FileAccess.text(output);
  }
}
