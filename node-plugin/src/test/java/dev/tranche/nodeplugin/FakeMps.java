package dev.tranche.nodeplugin;

import dev.tranche.process.Programs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The simulated control daemon of e2e/fakemps, and what it keeps below an MPS root. */
public final class FakeMps {
  private final Path program;
  private final Path root;

  private FakeMps(Path program, Path root) {
    this.program = program;
    this.root = root;
  }

  /**
   * Builds it below target.
   *
   * @param root where the daemons' folders will be
   */
  public static FakeMps compiled(Path root) throws IOException, InterruptedException {
    Path out = FakeNvml.ofThisJvm("fakemps");
    Path sources = Path.of("../e2e/fakemps").toAbsolutePath().normalize();
    Programs.output("make", "-s", "-C", sources.toString(), "OUT=" + out);
    return new FakeMps(out.resolve("nvidia-cuda-mps-control"), root);
  }

  public Path program() {
    return program;
  }

  Path root() {
    return root;
  }

  /** Every line that the daemon of nvidia.com/gpu was told. */
  List<String> commands() {
    return lines(root.resolve("nvidia.com/gpu/log/told"));
  }

  public long commandCount(String line) {
    return commands().stream().filter(line::equals).count();
  }

  public boolean ready() {
    return lines(root.resolve(".status")).contains("serving");
  }

  /** Its process; 0 while none runs. */
  long pid() {
    return pid("nvidia-cuda-mps-control.pid");
  }

  /** The process of its server; 0 while none was started. */
  long serverPid() {
    return pid("server.pid");
  }

  private long pid(String file) {
    List<String> pid = lines(root.resolve("nvidia.com/gpu/pipe").resolve(file));
    return pid.isEmpty() ? 0 : Long.parseLong(pid.getFirst());
  }

  /** Not so for one that has ended and that nobody has waited for: it has no command line. */
  static boolean running(long pid) throws IOException {
    Path commandLine = Path.of("/proc", Long.toString(pid), "cmdline");
    return Files.exists(commandLine) && !Files.readString(commandLine).isEmpty();
  }

  public void kill() {
    ProcessHandle.of(pid()).ifPresent(ProcessHandle::destroyForcibly);
    ProcessHandle.of(serverPid()).ifPresent(ProcessHandle::destroyForcibly);
  }

  public static Object modified(Path file) {
    try {
      return Files.getLastModifiedTime(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Its server goes on, an orphan. */
  public void killControl() {
    ProcessHandle.of(pid()).ifPresent(ProcessHandle::destroyForcibly);
  }

  private static List<String> lines(Path file) {
    try {
      return Files.exists(file) ? Files.readAllLines(file) : List.of();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
