package dev.tranche.e2e.verify;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Whether an MPS control daemon starts, takes a limit and quits. It leaves compute modes alone. */
final class MpsChecks {
  private static final String AREA = "MPS";
  private static final String NAME = "control daemon";
  private static final String PROGRAM = "nvidia-cuda-mps-control";
  private static final int LIMIT_S = 20;

  private final VerifyOptions options;
  private final Report report;

  MpsChecks(VerifyOptions options, Report report) {
    this.options = options;
    this.report = report;
  }

  void run() throws IOException, InterruptedException {
    Optional<Tool> program = Tool.find(PROGRAM);
    if (!options.mps()) {
      report.add(AREA, NAME, CheckStatus.NOT_AVAILABLE, "not requested; --mps starts one");
    } else if (!"root".equals(System.getProperty("user.name"))) {
      report.add(AREA, NAME, CheckStatus.NOT_AVAILABLE, "needs root, as the node plugin's has");
    } else if (program.isEmpty()) {
      report.add(AREA, NAME, CheckStatus.NOT_AVAILABLE, "there is no " + PROGRAM + " on the PATH");
    } else {
      daemon(program.get());
    }
  }

  private void daemon(Tool program) throws IOException, InterruptedException {
    Path folder = Files.createTempDirectory("tranche-mps");
    try {
      control(program, folder, "", "-d");
      try {
        control(program, folder, "set_default_active_thread_percentage 50\n");
        String answer = control(program, folder, "get_default_active_thread_percentage\n");
        boolean taken = answer.strip().startsWith("50");
        report.add(
            AREA,
            NAME,
            taken ? CheckStatus.OK : CheckStatus.FAILED,
            "starts, answers " + answer.strip() + " to a limit of 50 %, and quits");
      } finally {
        control(program, folder, "quit\n");
      }
    } catch (IOException e) {
      report.add(AREA, NAME, CheckStatus.FAILED, String.valueOf(e.getMessage()));
    } finally {
      remove(folder);
    }
  }

  // In folders of its own, so that a daemon that serves already is not touched.
  private static String control(Tool program, Path folder, String input, String... arguments)
      throws IOException, InterruptedException {
    Path output = folder.resolve("output");
    ProcessBuilder command = new ProcessBuilder(program.program().toString());
    command.command().addAll(List.of(arguments));
    command.environment().put("CUDA_MPS_PIPE_DIRECTORY", folder.resolve("pipe").toString());
    command.environment().put("CUDA_MPS_LOG_DIRECTORY", folder.resolve("log").toString());
    Files.createDirectories(folder.resolve("pipe"));
    Files.createDirectories(folder.resolve("log"));
    Process process = command.redirectErrorStream(true).redirectOutput(output.toFile()).start();
    process.getOutputStream().write(input.getBytes(StandardCharsets.UTF_8));
    process.getOutputStream().close();
    if (!process.waitFor(LIMIT_S, TimeUnit.SECONDS)) {
      process.destroyForcibly();
      throw new IOException(PROGRAM + " does not answer within " + LIMIT_S + " s");
    }
    String text = Files.readString(output);
    if (process.exitValue() != 0) {
      throw new IOException(PROGRAM + " ends with status " + process.exitValue() + ": " + text);
    }
    return text;
  }

  private static void remove(Path folder) throws IOException {
    try (var files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    }
  }
}
