package dev.tranche.e2e.plane;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A child process with its log in a file; it does not outlive this process. */
public final class ChildProcess implements AutoCloseable {
  private static final long STOP_SECONDS = 10;

  /** Clock ticks per second in the kernel's figures, on every Linux that we run on. */
  private static final long TICKS_PER_S = 100;

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

  private String tail() {
    try {
      List<String> lines = Files.readAllLines(log);
      return String.join("\n", lines.subList(Math.max(0, lines.size() - 20), lines.size()));
    } catch (IOException e) {
      return e.toString();
    }
  }

  public Instant startedAt() {
    return process.info().startInstant().orElseThrow();
  }

  /** Returns the CPU time of all its threads since it began. */
  public Duration cpu() {
    return process.info().totalCpuDuration().orElse(Duration.ZERO);
  }

  /** Returns the CPU time of the threads that live now, by thread name without number. */
  public Map<String, Duration> cpuByThreads() throws IOException {
    var all = new TreeMap<String, Duration>();
    try (Stream<Path> tasks = Files.list(Path.of("/proc", Long.toString(process.pid()), "task"))) {
      for (Path task : tasks.toList()) {
        String stat;
        try {
          stat = Files.readString(task.resolve("stat"));
        } catch (IOException ended) {
          // The thread has ended meanwhile, before its file was opened or before it was read.
          continue;
        }
        int nameEnd = stat.lastIndexOf(')');
        String name = stat.substring(stat.indexOf('(') + 1, nameEnd).replaceAll("[-# ]*\\d+$", "");
        String[] rest = stat.substring(nameEnd + 2).split(" ");
        long ticks = Long.parseLong(rest[11]) + Long.parseLong(rest[12]);
        all.merge(name, Duration.ofMillis(ticks * 1_000 / TICKS_PER_S), Duration::plus);
      }
    }
    return all;
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
