package dev.tranche.e2e.verify;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Whether an MPS control daemon starts, takes limits and quits, and whether its clients keep to the
 * limits that Tranche gives to a container. It leaves compute modes alone.
 */
final class MpsChecks {
  private static final String AREA = "MPS";
  private static final String NAME = "control daemon";
  private static final String PROGRAM = "nvidia-cuda-mps-control";
  private static final String MEMORY = "memory limit of a client";
  private static final String THREADS = "thread limit of a client";
  private static final int LIMIT_S = 20;
  private static final int LIMIT_MIB = 2_048;
  private static final int WITHIN_MIB = 256;
  private static final int BEYOND_MIB = 3_072;
  private static final int OUT_OF_MEMORY = 2;
  private static final int PERCENT = 50;

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
        control(program, folder, "set_default_active_thread_percentage " + PERCENT + "\n");
        String answer = control(program, folder, "get_default_active_thread_percentage\n");
        boolean taken = answer.strip().startsWith(Integer.toString(PERCENT));
        report.add(
            AREA,
            NAME,
            taken ? CheckStatus.OK : CheckStatus.FAILED,
            "starts, answers " + answer.strip() + " to a limit of " + PERCENT + " %, and quits");
        control(program, folder, "set_default_active_thread_percentage 100\n");
        clients(folder);
      } finally {
        control(program, folder, "quit\n");
      }
    } catch (IOException e) {
      report.add(AREA, NAME, CheckStatus.FAILED, String.valueOf(e.getMessage()));
    } finally {
      remove(folder);
    }
  }

  /** Compares a client with the variables that Allocate sets with a process outside of MPS. */
  private void clients(Path folder) throws IOException, InterruptedException {
    Map<String, String> free = client(folder, Map.of());
    String uuid = free.get("uuid");
    if (uuid == null) {
      report.add(
          AREA, MEMORY, CheckStatus.NOT_AVAILABLE, "no CUDA program runs here: " + failure(free));
      return;
    }
    Map<String, String> limited =
        client(
            folder,
            Map.of(
                "CUDA_MPS_PIPE_DIRECTORY",
                folder.resolve("pipe").toString(),
                "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
                uuid + "=" + LIMIT_MIB + "M",
                "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                Integer.toString(PERCENT)));
    if (limited.get("uuid") == null) {
      report.add(AREA, MEMORY, CheckStatus.FAILED, "no client starts: " + failure(limited));
      return;
    }
    memory(free, limited);
    threads(free, limited);
    shown(limited);
  }

  private static String failure(Map<String, String> answers) {
    return answers.entrySet().stream()
        .filter(line -> line.getKey().startsWith("failed "))
        .map(line -> line.getKey().substring("failed ".length()) + " " + line.getValue())
        .findFirst()
        .orElse("libcuda.so.1 cannot be loaded, or the program ends: " + answers);
  }

  private void memory(Map<String, String> free, Map<String, String> limited) {
    boolean kept =
        "0".equals(limited.get("allocated " + WITHIN_MIB))
            && Integer.toString(OUT_OF_MEMORY).equals(limited.get("allocated " + BEYOND_MIB));
    boolean room = "0".equals(free.get("allocated " + BEYOND_MIB));
    CheckStatus status =
        !room ? CheckStatus.NOT_AVAILABLE : kept ? CheckStatus.OK : CheckStatus.FAILED;
    report.add(
        AREA,
        MEMORY,
        status,
        "with a limit of %d MiB, %d MiB answer %s and %d MiB answer %s (2 is out of memory)"
            .formatted(
                LIMIT_MIB,
                WITHIN_MIB,
                limited.get("allocated " + WITHIN_MIB),
                BEYOND_MIB,
                limited.get("allocated " + BEYOND_MIB)));
  }

  private void threads(Map<String, String> free, Map<String, String> limited) {
    int all = Integer.parseInt(free.getOrDefault("multiprocessors", "0"));
    int part = Integer.parseInt(limited.getOrDefault("multiprocessors", "0"));
    report.add(
        AREA,
        THREADS,
        part > 0 && part < all ? CheckStatus.OK : CheckStatus.FAILED,
        "with %d %%, a client sees %d of %d multiprocessors".formatted(PERCENT, part, all));
  }

  /** What cuMemGetInfo answers, by which many programs choose how much they allocate. */
  private void shown(Map<String, String> limited) {
    int free = Integer.parseInt(limited.getOrDefault("free", "0"));
    report.add(
        AREA,
        "memory that a client is shown",
        free < LIMIT_MIB ? CheckStatus.OK : CheckStatus.DIFFERS,
        "with a limit of %d MiB, %d MiB are free beside its context, of %s MiB in total"
            .formatted(LIMIT_MIB, free, limited.get("total")));
  }

  /** Runs a {@link CudaClient}; returns its lines by all words but the last. */
  private Map<String, String> client(Path folder, Map<String, String> variables)
      throws IOException, InterruptedException {
    Path output = folder.resolve("client");
    List<String> java = JavaProcess.command();
    java.add(CudaClient.class.getName());
    java.add(options.library("libcuda.so.1").map(Path::toString).orElse("libcuda.so.1"));
    java.add(Integer.toString(WITHIN_MIB));
    java.add(Integer.toString(BEYOND_MIB));
    ProcessBuilder command = new ProcessBuilder(java);
    command.environment().keySet().removeIf(name -> name.startsWith("CUDA_"));
    // Without it, a process finds the daemon that may serve this machine.
    command.environment().put("CUDA_MPS_PIPE_DIRECTORY", folder.resolve("none").toString());
    command.environment().putAll(variables);
    Process process = command.redirectErrorStream(true).redirectOutput(output.toFile()).start();
    if (!process.waitFor(LIMIT_S, TimeUnit.SECONDS)) {
      process.destroyForcibly();
      throw new IOException("a CUDA program does not end within " + LIMIT_S + " s");
    }
    Map<String, String> answers = new TreeMap<>();
    for (String line : Files.readAllLines(output)) {
      int space = line.lastIndexOf(' ');
      if (space > 0) {
        answers.put(line.substring(0, space), line.substring(space + 1));
      }
    }
    return answers;
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
