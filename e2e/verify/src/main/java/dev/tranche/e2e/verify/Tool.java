package dev.tranche.e2e.verify;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** A program of NVIDIA's that may be on this machine. */
final class Tool {
  private static final int LIMIT_S = 30;
  private static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

  private final Path program;

  private Tool(Path program) {
    this.program = program;
  }

  /** Looks for a program on the PATH. */
  static Optional<Tool> find(String name) {
    String path = System.getenv().getOrDefault("PATH", "");
    for (String folder : path.split(":", -1)) {
      Path file = Path.of(folder, name);
      if (Files.isExecutable(file) && Files.isRegularFile(file)) {
        return Optional.of(new Tool(file));
      }
    }
    return Optional.empty();
  }

  Path program() {
    return program;
  }

  /** Returns its output; throws an IOException if it fails or does not end. */
  String run(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(program.toString()));
    command.addAll(List.of(arguments));
    Path output = Files.createTempFile("tranche-verify", ".out");
    try {
      ProcessBuilder builder =
          new ProcessBuilder(command)
              .redirectOutput(output.toFile())
              .redirectError(ProcessBuilder.Redirect.DISCARD);
      // nvidia-ctk looks for the driver's programs there, and so not in folders of the caller's.
      builder.environment().put("PATH", PATH);
      Process process = builder.start();
      process.getOutputStream().close();
      if (!process.waitFor(LIMIT_S, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        throw new IOException(program + " does not end within " + LIMIT_S + " s");
      }
      if (process.exitValue() != 0) {
        throw new IOException(program + " ends with status " + process.exitValue());
      }
      return Files.readString(output, StandardCharsets.UTF_8);
    } finally {
      Files.deleteIfExists(output);
    }
  }
}
