package dev.tranche.e2e.plane;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A child process with its log in a file; it does not outlive this process. */
public final class ChildProcess implements AutoCloseable {
  private static final long STOP_SECONDS = 10;

  private final Process process;
  private final Path log;
  private final Thread atExit;

  private ChildProcess(Process process, Path log) {
    this.process = process;
    this.log = log;
    this.atExit = new Thread(process::destroyForcibly);
    Runtime.getRuntime().addShutdownHook(atExit);
  }

  public static ChildProcess start(Path log, List<String> command) throws IOException {
    return start(log, command, Map.of());
  }

  public static ChildProcess start(Path log, List<String> command, Map<String, String> environment)
      throws IOException {
    var builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
    builder.environment().putAll(environment);
    return new ChildProcess(builder.start(), log);
  }

  /**
   * @throws IllegalStateException with the last lines of its log, if it has ended
   */
  public void requireAlive() {
    if (!process.isAlive()) {
      throw new IllegalStateException(
          "%s ended with %d: %s".formatted(log, process.exitValue(), tail()));
    }
  }

  /** Returns the last lines of its log. */
  public String tail() {
    try {
      List<String> lines = Files.readAllLines(log);
      return String.join("\n", lines.subList(Math.max(0, lines.size() - 20), lines.size()));
    } catch (IOException e) {
      return e.toString();
    }
  }

  public long pid() {
    return process.pid();
  }

  public Instant startedAt() {
    return process.info().startInstant().orElseThrow();
  }

  /** Returns the CPU time of all its threads since it began. */
  public Duration cpu() {
    return process.info().totalCpuDuration().orElse(Duration.ZERO);
  }

  /** Returns its resident memory now, in MiB. */
  public double residentMib() throws IOException {
    return Files.readAllLines(Path.of("/proc", Long.toString(process.pid()), "status")).stream()
            .filter(line -> line.startsWith("VmRSS:"))
            .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
            .findFirst()
            .orElseThrow()
        / 1024.0;
  }

  @Override
  public void close() {
    process.destroy();
    try {
      if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
    try {
      Runtime.getRuntime().removeShutdownHook(atExit);
    } catch (IllegalStateException exiting) {
      // The hook runs, or has run.
    }
  }
}
