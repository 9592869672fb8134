package dev.tranche.e2e.install;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Commands of this machine, run to their end. */
public final class Shell {
  private Shell() {}

  /**
   * @param output the command's output, as far as it was not redirected
   */
  public record Result(List<String> command, int status, String output) {
    /** Returns the output; throws an AssertionError if the command failed. */
    public String orFail() {
      if (status != 0) {
        throw new AssertionError("%s: status %d: %s".formatted(command, status, output));
      }
      return output;
    }
  }

  /** A command line, in this process' folder. */
  public static Result run(String line) throws IOException {
    return run(Path.of(""), line);
  }

  public static Result run(Path folder, String line) throws IOException {
    return run(bash(line).directory(folder.toAbsolutePath().toFile()).redirectErrorStream(true));
  }

  private static ProcessBuilder bash(String line) {
    return new ProcessBuilder("bash", "-c", line);
  }

  /** Without an input. */
  public static Result run(ProcessBuilder command) throws IOException {
    Process process = command.start();
    process.getOutputStream().close();
    String output = new String(process.getInputStream().readAllBytes(), UTF_8);
    try {
      return new Result(command.command(), process.waitFor(), output);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }

  /**
   * Returns a command line's standard output, without its standard error. The latter is shown only
   * in the AssertionError if it fails.
   */
  public static String output(String line) throws IOException {
    Path errors = Files.createTempFile("tranche", ".stderr");
    try {
      Result result = run(bash(line).redirectError(errors.toFile()));
      if (result.status() != 0) {
        throw new AssertionError(line + ": " + result.output() + Files.readString(errors));
      }
      return result.output();
    } finally {
      Files.delete(errors);
    }
  }

  /** Returns the folder of what {@code e2e/build.sh} builds, for a test of that module. */
  public static Path built(String program) throws IOException {
    return Path.of(output("./build.sh " + program).strip().replace(program + "=", ""));
  }

  /** What {@code docker} answers; it must succeed. */
  public static String docker(String... arguments) throws IOException {
    var command = Stream.concat(Stream.of("docker"), Stream.of(arguments)).toList();
    return run(new ProcessBuilder(command).redirectErrorStream(true)).orFail().strip();
  }
}
